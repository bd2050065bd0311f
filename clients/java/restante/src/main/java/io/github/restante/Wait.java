package io.github.restante;

import io.github.restante.Connection.Outcome;
import io.github.restante.Connection.Request;
import io.github.restante.model.Explanation;
import io.github.restante.model.MessageFields;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One wait until a deadline, despite the server's limits, a restart, and filters applied here. */
final class Wait {
  /** The header with the page about a wait that timed out. */
  private static final Pattern HELP = Pattern.compile("<([^>]*)>\\s*;[^,]*\\brel=\"?help\\b");

  private final Connection connection;
  private final Inbox inbox;
  private final Search search;
  private final Position.Walk walk;
  private final Duration timeout;
  private final long start = System.nanoTime();
  private final long deadline;

  /** Tells the server that the wait must stay empty. */
  private boolean expectsNone;

  /** That of the search for the latest message, the same in all of its requests. */
  private String name = "";

  private String link;

  Wait(Connection connection, Inbox inbox, Search search, Position.Walk walk, Duration timeout) {
    this.connection = connection;
    this.inbox = inbox;
    this.search = search;
    this.walk = walk;
    this.timeout = Settings.checked(timeout);
    this.deadline = start + timeout.toNanos();
  }

  /** The next messages that match, oldest first. */
  List<Message> messages(int count) {
    List<Message> found = new ArrayList<>();
    try {
      String after = walk.start();
      while (found.size() < count) {
        Message message = next(after, walk::takes);
        if (message == null) {
          throw timedOut(found, count);
        }
        found.add(message);
        after = message.id();
      }
    } catch (RuntimeException error) {
      walk.failed(found);
      throw error;
    }
    walk.succeeded(found);
    return found;
  }

  /** Fails if a matching message arrives. */
  void nothing() {
    expectsNone = true;
    Message message = next(walk.start(), walk::wouldTake);
    if (message != null) {
      String text =
          "a message%s arrived at %s within %s, but none was expected: %s"
              .formatted(search, inbox.address(), seconds(timeout), message);
      throw new UnexpectedMessageException(text + inbox.story(null), message);
    }
  }

  /** The oldest matching message that is taken, or null at the deadline. */
  private Message next(String start, Predicate<String> takes) {
    name = UUID.randomUUID().toString();
    String after = start;
    while (true) {
      Message message = ask(after);
      if (message == null) {
        return null;
      }
      List<String> missed = search.missedBy(message);
      if (missed.isEmpty() && takes.test(message.id())) {
        return message;
      }
      after = message.id();
    }
  }

  /** The oldest message that matches the filters of the server, or null at the deadline. */
  private Message ask(String after) {
    Request request =
        Request.get(inbox.path("/messages/wait"), search.query(after))
            .withDeadline(deadline)
            .withWait(name)
            .withFilters(search.here());
    if (expectsNone) {
      request = request.expectingNone();
    }
    do {
      Outcome outcome = answer(request);
      if (outcome.isSuccess()) {
        MessageFields fields =
            connection.decode(request, outcome, MessageFields.class, Message::isMessage);
        return new Message(connection, fields);
      }
      Matcher page = HELP.matcher(outcome.headers().getOrDefault("link", ""));
      if (page.find()) {
        link = page.group(1);
      }
    } while (System.nanoTime() - deadline < 0);
    return null;
  }

  private Outcome answer(Request request) {
    try {
      return connection.call(request);
    } catch (NotFoundException error) {
      throw ended(error);
    }
  }

  /** The server's explanation has the time and the reason of the end. */
  private NotFoundException ended(RestanteException error) {
    Explanation explanation = explanation(new Search(), null, null);
    String text =
        explanation == null || explanation.ended() == null
            ? error.getMessage() + ". The inbox was " + inbox.address()
            : explanation.summary();
    return new NotFoundException(text, error.status(), error);
  }

  /** What was expected, the server's report, and the link to the page about the wait. */
  private WaitTimeoutException timedOut(List<Message> found, int count) {
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    String after = found.isEmpty() ? walk.start() : found.get(found.size() - 1).id();
    Explanation explanation = explanation(search, after, name);
    String text =
        "%s%s arrived at %s within %s.\n%s%s"
            .formatted(
                count == 1 ? "no message" : found.size() + " of " + count + " messages",
                search,
                inbox.address(),
                seconds(timeout),
                explanation == null
                    ? "The server's explanation could not be read."
                    : explanation.report(),
                inbox.story(link));
    return new WaitTimeoutException(text, search.named(walk.start()), waited, explanation, link);
  }

  private static String seconds(Duration duration) {
    return new BigDecimal(duration.toMillis())
            .movePointLeft(3)
            .setScale(2, RoundingMode.HALF_UP)
            .stripTrailingZeros()
            .toPlainString()
        + " s";
  }

  private Explanation explanation(Search filters, String after, String wait) {
    try {
      return inbox.explain(filters, after, wait);
    } catch (RestanteException error) {
      return null;
    }
  }
}
