package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a test reads from a message. */
class MessageTest {
  @Test
  void aLinkOfAPlainTextHasNoWords() {
    try (Server server = Server.start("", List.of());
        Restante client = Restante.connect(server.settings())) {
      Inbox inbox = client.createInbox();
      String html = "<a href=\"https://app.example/c/1\">Confirm</a>";
      inbox.send(new Outgoing(inbox.address(), "Hi", "See https://app.example/help", html, null));
      inbox.send(new Outgoing(inbox.address(), "Hi", "See https://app.example/help"));
      List<Message> mail = inbox.waitForMessages(2);
      assertEquals("https://app.example/c/1", mail.get(0).linkText("confirm"));
      Message plain = mail.get(1);
      String text =
          assertThrows(ContentException.class, () -> plain.linkText("Confirm")).getMessage();
      assertTrue(text.contains("\n  https://app.example/help\nDashboard: http://127.0.0.1:"), text);
      assertTrue(text.endsWith("/inboxes/" + inbox.id()), text);
      inbox.send(new Outgoing(inbox.address(), "Surprise", "Hi"));
      String unexpected =
          assertThrows(
                  UnexpectedMessageException.class,
                  () -> inbox.expectNoMessage(Duration.ofSeconds(9)))
              .getMessage();
      assertTrue(unexpected.contains("\nDashboard: http://127.0.0.1:"), unexpected);
    }
  }

  @Test
  void anExcludedMessageThatIsGoneIsNotInTheExplanation() {
    try (Server server = Server.start("", List.of());
        Restante client = Restante.connect(server.settings())) {
      Inbox inbox = client.createInbox();
      inbox.send(new Outgoing(inbox.address(), "Hi", "Hello"));
      Filter gone = Filter.where(MessageTest::isDeleted);
      Filter timeout = Filter.timeout(Duration.ofMillis(300));
      WaitTimeoutException failure =
          assertThrows(WaitTimeoutException.class, () -> inbox.waitForMessage(gone, timeout));
      assertFalse(failure.getMessage().contains("arrived: "), failure.getMessage());
      assertNotEquals("filter_missed", failure.explanation().cause());
    }
  }

  private static boolean isDeleted(Message message) {
    message.delete();
    return false;
  }
}
