// Sends one message with JavaMail, as Spring's mail sender does: PORT FROM TO SUBJECT TEXT.

import java.util.Properties;
import javax.mail.Session;
import javax.mail.Transport;
import javax.mail.internet.InternetAddress;
import javax.mail.internet.MimeMessage;

public class Mail {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("mail.smtp.host", "127.0.0.1");
        properties.put("mail.smtp.port", arguments[0]);
        properties.put("mail.smtp.auth", "true");
        MimeMessage message = new MimeMessage(Session.getInstance(properties));
        message.setFrom(new InternetAddress(arguments[1]));
        message.setRecipients(javax.mail.Message.RecipientType.TO, arguments[2]);
        message.setSubject(arguments[3]);
        message.setText(arguments[4], "utf-8");
        Transport.send(message, "app", "secret");
    }
}
