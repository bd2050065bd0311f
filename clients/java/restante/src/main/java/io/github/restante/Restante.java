package io.github.restante;

import io.github.restante.Connection.Request;
import io.github.restante.model.Health;
import io.github.restante.model.InboxFields;
import io.github.restante.model.MessageFields;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A client of one server with one key. It may be used by several threads. Closing it cancels its
 * waits.
 */
public final class Restante implements AutoCloseable {
  private final Connection connection;
  private final Server server;

  private Restante(Settings settings, Server server) {
    this.connection = new Connection(settings, server == null ? null : server.log());
    this.server = server;
  }

  /**
   * A client with the settings of the environment. Without {@code RESTANTE_URL} it starts a server
   * itself, which {@link #close} stops.
   *
   * @return the client
   */
  public static Restante connect() {
    return connect(Settings.ofEnvironment());
  }

  /**
   * A client with these settings, and those of the environment.
   *
   * @param settings the settings
   * @return the client
   */
  public static Restante connect(Settings settings) {
    return connect(settings, List.of());
  }

  /**
   * As {@link #connect()}. The server that it starts is shared with the other processes of the same
   * run, such as Maven's forks, and ends with the last of them.
   *
   * @return the client
   */
  public static Restante connectForRun() {
    List<String> shared =
        Stream.iterate(
                ProcessHandle.current().parent(), Optional::isPresent, it -> it.get().parent())
            .flatMap(Optional::stream)
            .filter(Restante::isJava)
            .findFirst()
            .map(run -> List.of("--shared", "java-" + run.pid()))
            .orElse(List.of());
    return connect(Settings.ofEnvironment(), shared);
  }

  /** Whether a process may be a runner: Maven has a shell between itself and each fork. */
  private static boolean isJava(ProcessHandle process) {
    return process.info().command().orElse("").matches(".*[/\\\\]java(\\.exe)?");
  }

  private static Restante connect(Settings settings, List<String> flags) {
    Settings completed = settings.completed(Environment.OF_PROCESS);
    if (completed.url() != null) {
      return new Restante(completed, null);
    }
    Server server = Server.start(completed.apiKey(), flags);
    return new Restante(server.settings().withTimeout(completed.timeout()), server);
  }

  /**
   * The address of the server.
   *
   * @return the URL
   */
  public String url() {
    return connection.settings().url();
  }

  /**
   * The SMTP server for the application under test.
   *
   * @return its host and port
   */
  public Smtp smtp() {
    return connection.settings().smtp();
  }

  /**
   * The domain of the inboxes that {@link #createInbox} makes.
   *
   * @return the domain
   */
  public String mailDomain() {
    return connection.settings().mailDomain();
  }

  /**
   * The base URL for a test helper of Mailpit.
   *
   * @return the URL
   */
  public String mailpitUrl() {
    return connection.settings().mailpitUrl();
  }

  /**
   * Returns if the server answers.
   *
   * @return its status
   */
  public Health health() {
    return connection.fetch(Request.get("/health"), Health.class, it -> it.status() != null);
  }

  /**
   * Creates an inbox with its own address.
   *
   * @return the inbox
   */
  public Inbox createInbox() {
    return createInbox("");
  }

  /**
   * Creates an inbox with its own address.
   *
   * @param label is shown with the inbox in the dashboard and in exceptions, for example the name
   *     of a test
   * @return the inbox
   */
  public Inbox createInbox(String label) {
    return found(Request.change("POST", "/inboxes", null), label);
  }

  /**
   * Finds an inbox.
   *
   * @param idOrAddress its id or its address
   * @return the inbox
   */
  public Inbox inbox(String idOrAddress) {
    return found(
        idOrAddress.contains("@")
            ? Request.get("/inboxes", Map.of("address", idOrAddress))
            : Request.get("/inboxes/" + Connection.quote(idOrAddress)),
        "");
  }

  /**
   * The inbox of a fixed address, for example that of a seeded user; it is created if there is
   * none. The first wait starts after the newest message that is there now.
   *
   * @param address the address
   * @return the inbox
   */
  public Inbox inboxFor(String address) {
    return inboxFor(address, "");
  }

  /**
   * As {@link #inboxFor(String)}, with a label that replaces an earlier one.
   *
   * @param address the address
   * @param label is shown with the inbox in the dashboard and in exceptions, for example the name
   *     of a test
   * @return the inbox
   */
  public Inbox inboxFor(String address, String label) {
    Request request = Request.change("PUT", "/inboxes/" + Connection.quote(address), null);
    Inbox inbox = found(request, label);
    inbox.startAfterNewest();
    return inbox;
  }

  /**
   * Finds a message by its id.
   *
   * @param id the id
   * @return the message
   */
  public Message message(String id) {
    MessageFields fields =
        connection.fetch(Request.get(Message.path(id)), MessageFields.class, Message::isMessage);
    return new Message(connection, fields);
  }

  private Inbox found(Request request, String label) {
    InboxFields fields =
        connection.fetch(
            request.withLabel(label),
            InboxFields.class,
            it -> it.id() != null && it.address() != null);
    return new Inbox(connection, fields, label);
  }

  /** Cancels the waits, and stops the server if this client has started it. */
  @Override
  public void close() {
    connection.close();
    if (server != null) {
      server.close();
    }
  }
}
