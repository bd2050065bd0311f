package io.github.restante;

import io.github.restante.Connection.Outcome;
import io.github.restante.Connection.Request;
import io.github.restante.model.Explanation;
import io.github.restante.model.MessageFields;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One wait until a deadline, despite the server's limits, a restart, and filters applied here. */
final class Wait {
  /** Maximum length of a wait that the server allows in one request. */
  private static final long MAX_REQUEST = Duration.ofSeconds(120).toNanos();

  /** The header with the page about a wait that timed out. */
  private static final Pattern HELP = Pattern.compile("<([^>]*)>\\s*;[^,]*\\brel=\"?help\\b");

  private final Connection connection;
  private final Inbox inbox;
  private final Search search;
  private final Position.Walk walk;
  private final Duration timeout;
  private final long start = System.nanoTime();
  private final long deadline;

  /** The messages that the filters applied here exclude, with the names of the filters. */
  private boolean expectsNone;

  /** The message after which the search for the next one began, or the word start. */
  private String began = "";

  private String link;
  private Duration linkHeld = Duration.ZERO;

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
              .formatted(search, inbox.address(), Report.seconds(timeout), message);
      throw new UnexpectedMessageException(text + inbox.story(null), message);
    }
  }

  /** The oldest matching message that is taken, or null at the deadline. */
  private Message next(String start, Predicate<String> takes) {
    began = start == null || start.isEmpty() ? "start" : start;
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
    Pauses pauses = new Pauses(left(), connection.closed);
    while (true) {
      boolean isLast = left().isZero();
      Request request = request(after);
      Outcome outcome = connection.attempt(request);
      boolean isOurs = outcome.said() != null;
      if (outcome.status() == 200) {
        MessageFields fields =
            connection.decode(request, outcome, MessageFields.class, Message::isMessage);
        return new Message(connection, fields);
      } else if (outcome.status() == 408 && isOurs) {
        noteLink(request, outcome);
        if (left().isZero()) {
          return null;
        }
      } else if (outcome.status() == 404 && isOurs) {
        throw ended(connection.exception(request, outcome));
      } else if (outcome.isSuccess()) {
        throw connection.foreign(request, outcome);
      } else if (isLast && outcome.status() == 429) {
        // The server checks for a message before it counts the waits.
        return null;
      } else if (isLast || !Connection.mayRepeat(request, outcome)) {
        throw connection.exception(request, outcome);
      } else {
        pauses.next(outcome);
      }
    }
  }

  private Duration left() {
    return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
  }

  private Request request(String after) {
    Duration held = Duration.ofNanos(Math.min(left().toNanos(), MAX_REQUEST));
    // For zero, the server would return 404, as for an inbox that has ended.
    long milliseconds = Math.max(1, held.plusNanos(999_999).toMillis());
    Map<String, String> query = search.query(after);
    query.put("timeout", Long.toString(milliseconds));
    Request request =
        new Request("GET", inbox.path("/messages/wait"), query, null, held)
            .withBegan(began)
            .withFilters(search.here());
    return expectsNone ? request.expectingNone() : request;
  }

  private void noteLink(Request request, Outcome outcome) {
    Matcher found = HELP.matcher(outcome.headers().getOrDefault("link", ""));
    if (found.find() && request.held().compareTo(linkHeld) >= 0) {
      link = found.group(1);
      linkHeld = request.held();
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

  private WaitTimeoutException timedOut(List<Message> found, int count) {
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    String after = found.isEmpty() ? walk.start() : found.get(found.size() - 1).id();
    Explanation explanation =
        explanation(search, after, after == null || after.isEmpty() ? "start" : after);
    Report report =
        new Report(
            inbox.address(), search, timeout, found.size(), count, explanation, inbox.story(link));
    return new WaitTimeoutException(
        report.text(), search.named(walk.start()), waited, explanation, link);
  }

  private Explanation explanation(Search filters, String after, String began) {
    try {
      return inbox.explain(filters, after, began);
    } catch (RestanteException error) {
      return null;
    }
  }
}
