package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import jakarta.activation.DataHandler;
import jakarta.mail.Address;
import jakarta.mail.MessagingException;
import jakarta.mail.SendFailedException;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeBodyPart;
import jakarta.mail.internet.MimeMessage;
import jakarta.mail.internet.MimeMultipart;
import jakarta.mail.util.ByteArrayDataSource;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import org.eclipse.angus.mail.smtp.SMTPAddressFailedException;
import org.eclipse.angus.mail.smtp.SMTPSendFailedException;

/** Stands for an application that sends, with Jakarta Mail. */
final class Mail {
  private Mail() {}

  /** Sends the message of a step, and returns the reply that decided. */
  static String send(Smtp smtp, JsonNode step) throws IOException, MessagingException {
    Properties properties = new Properties();
    properties.put("mail.smtp.host", smtp.host());
    properties.put("mail.smtp.port", Integer.toString(smtp.port()));
    properties.put("mail.smtp.allow8bitmime", "true");
    MimeMessage message = compose(Session.getInstance(properties), step);
    try {
      Transport.send(message, new Address[] {new InternetAddress(step.path("to").asText())});
      return "250";
    } catch (SendFailedException error) {
      for (Exception cause = error; cause instanceof MessagingException; ) {
        if (cause instanceof SMTPAddressFailedException refused) {
          return refused.getReturnCode() + "";
        }
        if (cause instanceof SMTPSendFailedException refused
            && !(refused.getNextException() instanceof SMTPAddressFailedException)) {
          return refused.getReturnCode() + "";
        }
        cause = ((MessagingException) cause).getNextException();
      }
      throw error;
    }
  }

  /** Fails to send a message over TLS, because the certificate is not trusted. */
  static Object sendOverTls(Smtp smtp, String to) throws IOException {
    Properties properties = new Properties();
    properties.put("mail.smtp.host", smtp.host());
    properties.put("mail.smtp.port", Integer.toString(smtp.port()));
    properties.put("mail.smtp.starttls.required", "true");
    try {
      JsonNode step = Connection.JSON.createObjectNode().put("to", to);
      MimeMessage message = compose(Session.getInstance(properties), step);
      Transport.send(message, new Address[] {new InternetAddress(to)});
    } catch (MessagingException error) {
      return null;
    }
    throw new AssertionError("the mail was accepted");
  }

  private static MimeMessage compose(Session session, JsonNode step)
      throws IOException, MessagingException {
    MimeMessage message = new MimeMessage(session);
    message.setFrom(step.path("from").asText("sender@app.example"));
    message.setRecipients(MimeMessage.RecipientType.TO, step.path("to").asText());
    message.setSubject(step.path("subject").asText());
    for (Map.Entry<String, JsonNode> header : step.path("headers").properties()) {
      message.setHeader(header.getKey(), header.getValue().asText());
    }
    String text = step.path("text").asText();
    if (step.has("attachments")) {
      message.setContent(withAttachments(text, step.path("attachments")));
    } else if (step.has("html")) {
      MimeMultipart parts = new MimeMultipart("alternative");
      parts.addBodyPart(part(text, "plain"));
      parts.addBodyPart(part(step.path("html").asText(), "html"));
      message.setContent(parts);
    } else {
      message.setText(text, "utf-8");
    }
    message.saveChanges();
    return message;
  }

  private static MimeMultipart withAttachments(String text, JsonNode attachments)
      throws IOException, MessagingException {
    MimeMultipart parts = new MimeMultipart();
    parts.addBodyPart(part(text, "plain"));
    for (JsonNode attachment : attachments) {
      MimeBodyPart part = new MimeBodyPart();
      byte[] content = attachment.path("base64").binaryValue();
      String type = attachment.path("content_type").asText();
      part.setDataHandler(new DataHandler(new ByteArrayDataSource(content, type)));
      part.setFileName(attachment.path("filename").asText());
      part.setHeader("Content-Transfer-Encoding", "base64");
      parts.addBodyPart(part);
    }
    return parts;
  }

  private static MimeBodyPart part(String text, String subtype) throws MessagingException {
    MimeBodyPart part = new MimeBodyPart();
    part.setText(text, "utf-8", subtype);
    return part;
  }
}
