package io.github.restante;

import io.github.restante.Connection.Request;
import io.github.restante.model.Explanation;
import io.github.restante.model.Fault;
import io.github.restante.model.FaultState;
import io.github.restante.model.InboxEvent;
import io.github.restante.model.InboxFields;
import io.github.restante.model.MessageFields;
import io.github.restante.model.Sent;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * An inbox with its own address. It remembers which messages its waits have returned. It may be
 * used by several threads. Closing it deletes it.
 */
public final class Inbox implements AutoCloseable {
  private final Connection connection;
  private final InboxFields fields;
  private final String label;
  private final Position position = new Position();

  record Messages(List<MessageFields> messages) {}

  record Faults(List<FaultState> faults) {}

  record Events(List<InboxEvent> events) {}

  Inbox(Connection connection, InboxFields fields, String label) {
    this.connection = connection;
    this.fields = fields;
    this.label = label;
  }

  /** The line of an exception that links to the page of a wait, or without one to the inbox. */
  String story(String link) {
    String line =
        link == null ? connection.dashboardLine(id()) : "\nWhat happened during this wait: " + link;
    String until = link != null && connection.endsWithRun() ? ", until the run ends" : "";
    return line + (label.isEmpty() ? "" : " (" + label + ")") + until;
  }

  /**
   * The identifier.
   *
   * @return the id
   */
  public String id() {
    return fields.id();
  }

  /**
   * The address to which the application sends its mail.
   *
   * @return the address
   */
  public String address() {
    return fields.address();
  }

  /**
   * When the inbox expires with its messages.
   *
   * @return the time, or null for a permanent inbox
   */
  public Instant expiresAt() {
    return fields.expiresAt();
  }

  /**
   * All fields.
   *
   * @return the fields
   */
  public InboxFields fields() {
    return fields;
  }

  /**
   * The next message that matches, oldest first; never one that this object has returned before. It
   * may arrive before or after the wait starts.
   *
   * @param filters what it must match
   * @return the message
   * @throws WaitTimeoutException with the reason, if none arrives
   */
  public Message waitForMessage(Filter... filters) {
    return waitForMessages(1, filters).get(0);
  }

  /**
   * The next messages that match, oldest first, within one timeout.
   *
   * @param count how many
   * @param filters what they must match
   * @return the messages
   * @throws WaitTimeoutException with the reason, if fewer arrive
   */
  public List<Message> waitForMessages(int count, Filter... filters) {
    Search search = Search.of(filters);
    Duration timeout = search.timeout == null ? connection.settings().timeout() : search.timeout;
    return new Wait(connection, this, search, position.walk(search), timeout).messages(count);
  }

  /**
   * Waits, and fails if a message that matches arrives or is there and was not returned by a wait.
   *
   * @param within how long to wait
   * @param filters what it must match
   * @throws UnexpectedMessageException with the message
   */
  public void expectNoMessage(Duration within, Filter... filters) {
    Search search = Search.of(filters);
    new Wait(connection, this, search, position.walk(search), within).nothing();
  }

  /**
   * The current messages that match, newest first, including those that waits have returned.
   *
   * @param filters what they must match
   * @return the messages
   */
  public List<Message> messages(Filter... filters) {
    Search search = Search.of(filters);
    return list(Request.get(path("/messages"), search.query(search.after)))
        .filter(message -> search.missedBy(message).isEmpty())
        .toList();
  }

  /**
   * The newest messages, newest first. Unlike {@link #messages}, it does not read the others.
   *
   * @param count the maximum number of messages
   * @return the messages
   */
  public List<Message> newest(int count) {
    return list(Request.get(path("/messages?limit=" + count))).toList();
  }

  private Stream<Message> list(Request request) {
    return connection
        .fetch(request, Messages.class, it -> it.messages() != null)
        .messages()
        .stream()
        .map(each -> new Message(connection, each));
  }

  /**
   * Sends a message from this inbox.
   *
   * @param message the message
   * @return its id and status
   */
  public Sent send(Outgoing message) {
    return send(connection, id(), message);
  }

  static Sent send(Connection connection, String inbox, Outgoing message) {
    String path = "/inboxes/" + Connection.quote(inbox) + "/messages";
    return connection.fetch(
        Request.change("POST", path, message), Sent.class, it -> it.id() != null);
  }

  /**
   * Replaces the faults of this inbox, which the server injects when the application sends to it.
   *
   * @param faults the faults; none removes them
   * @return the faults, with their uses
   */
  public List<FaultState> setFaults(Fault... faults) {
    Map<String, Object> body = Map.of("faults", List.of(faults));
    return faults(Request.change("PUT", path("/faults"), body));
  }

  /**
   * The faults of this inbox, and when each was used.
   *
   * @return the faults
   */
  public List<FaultState> faults() {
    return faults(Request.get(path("/faults")));
  }

  private List<FaultState> faults(Request request) {
    return connection.fetch(request, Faults.class, it -> it.faults() != null).faults();
  }

  /**
   * The server's explanation why no matching message arrived. The server does not know patterns and
   * predicates.
   *
   * @param filters the filters of the wait
   * @return the explanation
   */
  public Explanation explain(Filter... filters) {
    Search search = Search.of(filters);
    return explain(search, search.after, null);
  }

  /** Names the wait that it explains, if there was one. */
  Explanation explain(Search search, String after, String wait) {
    Request request = Request.get(path("/explain"), search.query(after));
    if (wait != null) {
      request = request.withWait(wait).withFilters(search.here());
    }
    return connection.fetch(
        request, Explanation.class, it -> it.summary() != null && it.report() != null);
  }

  /**
   * What happened to the inbox, oldest first: waits, SMTP sessions with their commands, messages,
   * and more.
   *
   * @return the events
   */
  public List<InboxEvent> events() {
    return connection
        .fetch(Request.get(path("/events")), Events.class, it -> it.events() != null)
        .events();
  }

  /** Deletes the inbox and its messages. */
  public void delete() {
    connection.call(Request.change("DELETE", path(""), null));
  }

  /** Deletes the inbox if it is still there. */
  @Override
  public void close() {
    try {
      delete();
    } catch (NotFoundException error) {
      // It has ended.
    }
  }

  void startAfterNewest() {
    newest(1).forEach(message -> position.startAfter(message.id()));
  }

  String path(String part) {
    return "/inboxes/" + Connection.quote(id()) + part;
  }

  @Override
  public String toString() {
    return address();
  }
}
