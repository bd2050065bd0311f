package io.github.restante.junit5;

import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.Restante;
import io.github.restante.RestanteException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The inboxes of one test, or of one class. */
final class TestMail {
  /** The maximum number of messages of an inbox that are shown, newest first. */
  private static final int MAX_MESSAGES = 10;

  private final String label;
  private final Map<Integer, Inbox> created = new ConcurrentHashMap<>();
  private final Map<String, Inbox> fixed = new ConcurrentHashMap<>();

  /** Whether the test, or a test of the class, has failed: its inboxes are kept. */
  private volatile boolean hasFailed;

  /** {@code label}: the name of the test, which the dashboard shows. */
  TestMail(String label) {
    this.label = label;
  }

  /** The inbox of a parameter: the first ones of a test and of its set-up are the same. */
  Inbox created(Restante client, int index) {
    return created.computeIfAbsent(index, key -> client.createInbox(label));
  }

  Inbox fixed(Restante client, String address) {
    return fixed.computeIfAbsent(address, key -> client.inboxFor(key, label));
  }

  Stream<Inbox> all() {
    return Stream.concat(created.values().stream(), fixed.values().stream());
  }

  void keep() {
    hasFailed = true;
  }

  /** Deletes what was created, unless it is kept. */
  void delete() {
    if (hasFailed) {
      return;
    }
    for (Inbox inbox : created.values()) {
      try {
        inbox.close();
      } catch (RestanteException error) {
        // The test has passed, even if the server has ended.
      }
    }
  }

  static List<Message> latest(Inbox inbox) {
    return inbox.newest(MAX_MESSAGES);
  }

  /** The messages of an inbox with what a test reads from them. */
  static String listed(Inbox inbox, List<Message> messages) {
    String head = "mail of %s, newest first (%d):".formatted(inbox.address(), messages.size());
    return head + messages.stream().map(TestMail::listed).collect(Collectors.joining());
  }

  private static String listed(Message message) {
    String code =
        message.details().codes().stream()
            .map(each -> "\n    code " + each.code())
            .collect(Collectors.joining());
    String links =
        message.links().stream().map(link -> "\n    link " + link).collect(Collectors.joining());
    return "\n  " + message + " at " + message.receivedAt() + code + links;
  }
}
