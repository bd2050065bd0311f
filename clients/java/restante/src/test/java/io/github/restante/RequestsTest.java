package io.github.restante;

import static io.github.restante.Filter.header;
import static io.github.restante.Filter.timeout;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.restante.ScriptedServer.Answer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is tried again, what is not, and how long a request may take. */
class RequestsTest {
  private static final Answer CREATED = new Answer(201, ScriptedServer.INBOX);
  private static final Answer FOUND = new Answer(200, ScriptedServer.MESSAGE);
  private static final Answer BUSY = Answer.error(429);
  private static final Answer ENDED = Answer.error(408);

  @Test
  void aLongWaitIsSeveralRequests() throws IOException {
    try (ScriptedServer server = new ScriptedServer(CREATED, ENDED, ENDED, FOUND);
        Restante client = server.client()) {
      client.createInbox().waitForMessage(timeout(Duration.ofSeconds(200)));
      assertEquals(List.of(120_000L, 120_000L, 120_000L), server.timeouts());
    }
  }

  @Test
  void aWaitGoesOnWithWhatIsLeft() throws IOException {
    try (ScriptedServer server = new ScriptedServer(CREATED, ENDED, FOUND);
        Restante client = server.client()) {
      client.createInbox().waitForMessage(timeout(Duration.ofSeconds(5)));
      List<Long> timeouts = server.timeouts();
      assertTrue(
          timeouts.get(0) <= 5_000 && timeouts.get(1) <= timeouts.get(0), timeouts::toString);
    }
  }

  @Test
  void aWaitThatIsOneTooManyIsTriedAgain() throws IOException {
    try (ScriptedServer server = new ScriptedServer(CREATED, BUSY, BUSY, FOUND);
        Restante client = server.client()) {
      assertEquals("m1", client.createInbox().waitForMessage().id());
      assertEquals(List.of("inboxes", "wait", "wait", "wait"), server.paths());
    }
  }

  @Test
  void thePausesGrowWithinLimits() {
    Connection.Outcome busy = new Connection.Outcome(429, Map.of(), new byte[0], null);
    for (long[] each : new long[][] {{0, 50}, {100, 50}, {4_000, 400}, {60_000, 1_000}}) {
      long pause = Duration.ofNanos(Connection.pause(each[0] * 1_000_000, busy)).toMillis();
      assertTrue(pause >= each[1] / 2 && pause <= each[1], each[0] + " ms: " + pause + " ms");
    }
    Connection.Outcome stopping =
        new Connection.Outcome(503, Map.of("retry-after", "2"), new byte[0], null);
    assertEquals(Duration.ofSeconds(2).toNanos(), Connection.pause(0, stopping));
  }

  @Test
  void aWaitThatIsAlwaysRefusedTimesOut() throws IOException {
    Answer[] answers = new Answer[100];
    java.util.Arrays.fill(answers, BUSY);
    answers[0] = CREATED;
    try (ScriptedServer server = new ScriptedServer(answers);
        Restante client = server.client()) {
      Inbox inbox = client.createInbox();
      Filter timeout = timeout(Duration.ofMillis(100));
      assertThrows(WaitTimeoutException.class, () -> inbox.waitForMessage(timeout));
    }
  }

  @Test
  void aWaitSurvivesABrokenConnectionAndAStop() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(CREATED, ScriptedServer.CUT, Answer.error(503), FOUND);
        Restante client = server.client()) {
      client.createInbox().waitForMessage();
      assertEquals(List.of("inboxes", "wait", "wait", "wait"), server.paths());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 503})
  void whatMayBeDoneTwiceIsRepeated(int status) throws IOException {
    Answer failure = status == 0 ? ScriptedServer.CUT : Answer.error(status);
    Answer newest = new Answer(200, "{\"messages\": []}");
    Answer faults = new Answer(200, "{\"faults\": []}");
    Answer gone = Answer.error(404);
    try (ScriptedServer server =
            new ScriptedServer(
                failure, CREATED, failure, CREATED, newest, failure, faults, failure, gone);
        Restante client = server.client()) {
      client.createInbox();
      Inbox inbox = client.inboxFor("ada@example.com");
      assertEquals(List.of(), inbox.setFaults());
      inbox.delete();
      assertEquals(9, server.requests.size());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 503})
  void aSendThatMayHaveBeenDoneIsNotRepeated(int status) throws IOException {
    assertSentOnce(status == 0 ? ScriptedServer.CUT : Answer.error(status));
  }

  @Test
  void aSendToAFullInboxIsNotRepeated() throws IOException {
    assertSentOnce(new Answer(429, "{\"error\": \"recipient inbox is full\"}"));
  }

  /** A send with this answer fails, and is not repeated. */
  private static void assertSentOnce(Answer answer) throws IOException {
    try (ScriptedServer server = new ScriptedServer(CREATED, answer);
        Restante client = server.client()) {
      Inbox inbox = client.createInbox();
      Outgoing mail = new Outgoing(inbox.address(), "Hello", "Hi");
      assertThrows(RestanteException.class, () -> inbox.send(mail));
      assertEquals(List.of("inboxes", "messages"), server.paths());
    }
  }

  @Test
  void whatWasNotDoneIsRepeated() throws IOException {
    try (ScriptedServer server = new ScriptedServer(BUSY, CREATED);
        Restante client = server.client()) {
      assertEquals("k3v9", client.createInbox().id());
    }
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Settings nobody = new Settings("http://127.0.0.1:" + port, "key", null, null, null);
    Connection connection = new Connection(nobody.completed(name -> null), null);
    Connection.Request send = Connection.Request.change("POST", "/inboxes/k3v9/messages", null);
    assertTrue(Connection.mayRepeat(send, connection.attempt(send)));
  }

  @Test
  void onlyAMessageThatIsGoneIsSkippedWithoutItsDetails() throws IOException {
    Filter filter = header("X-Step", Pattern.compile("1"));
    Filter timeout = timeout(Duration.ofMillis(100));
    try (ScriptedServer server = new ScriptedServer(CREATED, FOUND, Answer.error(404), FOUND);
        Restante client = server.client()) {
      // The script has no details for the second one.
      String text = failure(client.createInbox(), filter, timeout).getMessage();
      assertEquals(List.of("inboxes", "wait", "details", "wait", "details"), server.paths());
      assertTrue(text.contains("/details: 500"), text);
    }
  }

  private static RestanteException failure(Inbox inbox, Filter... filters) {
    return assertThrows(RestanteException.class, () -> inbox.waitForMessage(filters));
  }

  @Test
  void aBodyThatStopsHasATimeLimit() throws IOException {
    try (ScriptedServer server = new ScriptedServer(new Answer(200, "{", 10))) {
      Connection connection = new Connection(server.settings(), null, Duration.ofMillis(200));
      Connection.Outcome outcome = connection.attempt(Connection.Request.get("/health"));
      assertEquals(0, outcome.status());
      assertInstanceOf(TimeoutException.class, outcome.cause());
    }
  }
}
