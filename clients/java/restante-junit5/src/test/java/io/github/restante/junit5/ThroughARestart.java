package io.github.restante.junit5;

import static io.github.restante.Filter.subject;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.restante.Inbox;
import io.github.restante.Restante;
import jakarta.mail.Address;
import jakarta.mail.Message.RecipientType;
import jakarta.mail.MessagingException;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.eclipse.angus.mail.smtp.SMTPAddressFailedException;
import org.eclipse.angus.mail.smtp.SMTPSendFailedException;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;

/**
 * Forty tests, in whose middle tests/restart/run restarts PostgreSQL. Without its name, Maven does
 * not run this class.
 */
@RestanteTest
class ThroughARestart {
  private static final ExecutorService APPLICATION = Executors.newCachedThreadPool();

  /** Before the parameters are made. */
  private final long began = System.currentTimeMillis();

  @RepeatedTest(40)
  void signsUp(Restante client, Inbox first, Inbox second, Inbox third, RepetitionInfo repetition)
      throws IOException {
    int number = repetition.getCurrentRepetition();
    List<Inbox> inboxes = List.of(first, second, third);
    for (Inbox inbox : inboxes) {
      String code = Integer.toString(100_000 + number * 10 + inboxes.indexOf(inbox));
      CompletableFuture<Void> sent =
          CompletableFuture.runAsync(() -> send(client, inbox.address(), code), APPLICATION);
      assertEquals(code, inbox.waitForMessage(subject("confirm")).code());
      sent.join();
    }
    String times = "%d %d %d\n".formatted(number, began, System.currentTimeMillis());
    Files.writeString(Path.of(System.getenv("PASSED")), times, StandardOpenOption.APPEND);
  }

  /** The application. As a mail server does, it repeats what was not accepted for now. */
  private static void send(Restante client, String to, String code) {
    while (true) {
      try {
        sendOnce(client, to, code);
        return;
      } catch (MessagingException error) {
        if (isFinal(error)) {
          throw new AssertionError(error);
        }
      }
      try {
        TimeUnit.MILLISECONDS.sleep(200);
      } catch (InterruptedException error) {
        throw new AssertionError(error);
      }
    }
  }

  private static void sendOnce(Restante client, String to, String code) throws MessagingException {
    Properties properties = new Properties();
    properties.put("mail.smtp.host", client.smtp().host());
    properties.put("mail.smtp.port", Integer.toString(client.smtp().port()));
    MimeMessage message = new MimeMessage(Session.getInstance(properties));
    message.setFrom("shop@app.example");
    message.setRecipients(RecipientType.TO, to);
    message.setSubject("Confirm your account");
    message.setText("Your code is " + code + ".");
    Transport.send(message, new Address[] {new InternetAddress(to)});
  }

  /** A connection that was refused or broke has no code. */
  private static boolean isFinal(Exception error) {
    while (error instanceof MessagingException each) {
      if (each instanceof SMTPAddressFailedException refused && refused.getReturnCode() >= 500
          || each instanceof SMTPSendFailedException failed && failed.getReturnCode() >= 500) {
        return true;
      }
      error = each.getNextException();
    }
    return false;
  }
}
