package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A server that this process has started: on free ports, with temporary data. It stops when it is
 * closed, and with this process, even if that crashes.
 */
public final class Server implements AutoCloseable {
  private static final long MAX_START = 30;
  private static final long MAX_STOP = 15;
  private static final int MAX_LOG = 2_000;

  /** Settings that would connect it to the data or the URL of another server. */
  private static final List<String> NOT_PASSED_ON =
      List.of("RESTANTE_DATABASE", "RESTANTE_BASE_URL", "RESTANTE_DATA_DIR");

  private static final Map<String, String> DEFAULTS =
      Map.of(
          "RESTANTE_HTTP_LISTEN", "127.0.0.1:0",
          "RESTANTE_SMTP_LISTEN", "127.0.0.1:0",
          "RESTANTE_MAILPIT_LISTEN", "127.0.0.1:0",
          "RESTANTE_SMTP_STARTTLS", "off",
          "RESTANTE_SMTP_PLAINTEXT_AUTH", "true",
          "RESTANTE_WAITS_PER_KEY", "128");

  private final Process process;
  private final Path directory;
  private final Settings settings;
  private final Thread atExit = new Thread(this::end, "restante-stop");

  private Server(Process process, Path directory, Settings settings) {
    this.process = process;
    this.directory = directory;
    this.settings = settings;
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /**
   * Starts a server. It gets the environment: {@code RESTANTE_SMTP_LISTEN=127.0.0.1:1025} sets a
   * fixed port.
   *
   * @param apiKey the key of its default project; empty for that of the environment, or a new one
   * @param flags additional flags of {@code restante serve}
   * @return the server
   */
  public static Server start(String apiKey, List<String> flags) {
    Path directory = null;
    try {
      directory = Directories.create();
      return start(Binary.find(directory), directory, apiKey, flags);
    } catch (IOException | RuntimeException error) {
      if (directory != null) {
        Directories.remove(directory);
      }
      throw error instanceof RestanteException ours
          ? ours
          : new UnreachableException("no server was started: " + error.getMessage(), 0, error);
    }
  }

  private static Server start(Path binary, Path directory, String apiKey, List<String> flags)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(binary.toString(), "serve"));
    command.addAll(List.of("--print-json", "--exit-with-stdin"));
    command.addAll(flags);
    ProcessBuilder builder = new ProcessBuilder(command);
    prepare(builder.environment(), directory, apiKey);
    openMailpit(builder.environment(), flags);
    Path log = directory.resolve("server.log");
    Process process = builder.redirectError(log.toFile()).start();
    try {
      return new Server(process, directory, greeting(process, log, apiKey));
    } catch (IOException | RuntimeException error) {
      process.destroyForcibly();
      throw error;
    }
  }

  private static void prepare(Map<String, String> environment, Path directory, String apiKey) {
    // The server takes an empty variable as absent, so it must not replace a default here.
    environment
        .entrySet()
        .removeIf(set -> set.getKey().startsWith("RESTANTE_") && set.getValue().isEmpty());
    DEFAULTS.forEach(environment::putIfAbsent);
    if (!environment.containsKey("RESTANTE_RELAY")) {
      // A test must not send mail to the internet by mistake.
      environment.putIfAbsent("RESTANTE_OUTBOUND", "off");
    }
    if ("off".equals(environment.get("RESTANTE_OUTBOUND"))) {
      environment.putIfAbsent("RESTANTE_ACCEPT_DOMAINS", "*");
    }
    NOT_PASSED_ON.forEach(environment::remove);
    environment.put("RESTANTE_DATA_DIR", directory.resolve("data").toString());
    if (!apiKey.isEmpty()) {
      environment.put("RESTANTE_API_KEY", apiKey);
    }
  }

  /** Helpers for Mailpit have no key. Other hosts must not read without one. */
  private static void openMailpit(Map<String, String> environment, List<String> flags) {
    String address = environment.get("RESTANTE_HTTP_LISTEN");
    boolean isLocal = address.startsWith("127.") || address.startsWith("[::1]");
    if (isLocal && flags.stream().noneMatch(flag -> flag.startsWith("--http-listen"))) {
      environment.putIfAbsent("RESTANTE_MAILPIT_API", "open");
    }
  }

  private static Settings greeting(Process process, Path log, String apiKey) throws IOException {
    String line = firstLine(process);
    if (line == null) {
      throw new UnreachableException("the server did not start. " + lastLines(log), 0, null);
    }
    JsonNode said;
    try {
      said = Connection.JSON.readTree(line);
    } catch (IOException error) {
      said = Connection.JSON.nullNode();
    }
    if (!said.path("url").isTextual() || !said.path("smtp").path("port").isInt()) {
      String text = "the program in RESTANTE_BIN is not Restante. It printed: " + line;
      throw new UnreachableException(text, 0, null);
    }
    String key =
        Settings.or(
            said.path("api_key").asText(""),
            apiKey,
            Environment.OF_PROCESS.get("RESTANTE_API_KEY"));
    Smtp smtp = new Smtp(said.at("/smtp/host").asText(), said.at("/smtp/port").asInt());
    String domain = said.path("mail_domain").asText();
    String url = said.path("url").asText();
    String mailpit = Settings.or(said.path("mailpit_url").textValue(), url + "/mailpit");
    return new Settings(url, key, null, smtp, domain, mailpit);
  }

  private static String firstLine(Process process) throws IOException {
    Thread watch =
        new Thread(
            () -> {
              try {
                TimeUnit.SECONDS.sleep(MAX_START);
                process.destroyForcibly();
              } catch (InterruptedException started) {
                // The line is there.
              }
            },
            "restante-start");
    watch.setDaemon(true);
    watch.start();
    try {
      // The stream is not closed: the server's output would have no reader.
      return new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
          .readLine();
    } finally {
      watch.interrupt();
    }
  }

  static String lastLines(Path log) {
    try {
      String text = new String(Files.readAllBytes(log), StandardCharsets.UTF_8).strip();
      return "Its last log lines:\n" + text.substring(Math.max(0, text.length() - MAX_LOG));
    } catch (IOException error) {
      return "Its log is gone: " + log;
    }
  }

  /**
   * The settings of a client of this server.
   *
   * @return the settings
   */
  public Settings settings() {
    return settings;
  }

  /**
   * The process of the server.
   *
   * @return its handle
   */
  public ProcessHandle process() {
    return process.toHandle();
  }

  Path log() {
    return directory.resolve("server.log");
  }

  /** Stops the server gracefully, and removes its data. */
  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException error) {
      // This process is ending.
    }
    end();
  }

  private synchronized void end() {
    try {
      process.getOutputStream().close(); // The server ends with its standard input.
    } catch (IOException error) {
      // It has ended.
    }
    try {
      if (!process.waitFor(MAX_STOP, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException error) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    Directories.remove(directory);
  }
}
