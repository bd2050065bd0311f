package senders;

import jakarta.activation.DataHandler;
import jakarta.mail.Message.RecipientType;
import jakarta.mail.MessagingException;
import jakarta.mail.Part;
import jakarta.mail.Session;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeBodyPart;
import jakarta.mail.internet.MimeMessage;
import jakarta.mail.internet.MimeMultipart;
import jakarta.mail.util.ByteArrayDataSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.ses.SesClient;
import software.amazon.awssdk.services.ses.model.Content;

/**
 * SES with the API of version 1. It has no attachments, so the application composes such a message.
 */
record Version1(SesClient client) implements Sdk {
  @Override
  public void simple(String to, String subject) {
    client.sendEmail(
        email ->
            email
                .source("shop@app.example")
                .destination(all -> all.toAddresses(to))
                .message(
                    message ->
                        message.subject(data(subject)).body(body -> body.text(data("Hello")))));
  }

  @Override
  public void whole(String to, String cc, String bcc) {
    SdkBytes message;
    try {
      message = SdkBytes.fromByteArray(composed(to, cc, bcc));
    } catch (MessagingException | IOException error) {
      throw new AssertionError(error);
    }
    client.sendRawEmail(email -> email.rawMessage(raw -> raw.data(message)));
  }

  private static byte[] composed(String to, String cc, String bcc)
      throws MessagingException, IOException {
    MimeMessage message = new MimeMessage((Session) null);
    message.setFrom(new InternetAddress("shop@app.example", "Zoë", "UTF-8"));
    message.setRecipient(RecipientType.TO, new InternetAddress(to, "Ada Lövelace", "UTF-8"));
    message.setRecipient(RecipientType.CC, new InternetAddress(cc));
    message.setRecipient(RecipientType.BCC, new InternetAddress(bcc));
    message.setReplyTo(InternetAddress.parse("help@app.example"));
    message.setSubject(SUBJECT, "UTF-8");
    message.setHeader("X-Order", "4711");
    MimeBodyPart text = new MimeBodyPart();
    text.setText(TEXT, "UTF-8");
    MimeBodyPart html = new MimeBodyPart();
    html.setText(HTML, "UTF-8", "html");
    MimeBodyPart image = file("logo.png", "image/png", Sdk.image());
    image.setDisposition(Part.INLINE);
    image.setContentID("<logo>");
    MimeBodyPart file = file(FILE, "application/octet-stream", Sdk.file());
    message.setContent(new MimeMultipart("mixed", text, html, image, file));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    message.writeTo(bytes);
    return bytes.toByteArray();
  }

  private static MimeBodyPart file(String name, String type, byte[] content)
      throws MessagingException {
    MimeBodyPart part = new MimeBodyPart();
    part.setDataHandler(new DataHandler(new ByteArrayDataSource(content, type)));
    part.setFileName(name);
    return part;
  }

  private static Content data(String text) {
    return Content.builder().data(text).charset(StandardCharsets.UTF_8.name()).build();
  }
}
