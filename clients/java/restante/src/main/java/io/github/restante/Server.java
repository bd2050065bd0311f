package io.github.restante;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A server for tests that this process has started: {@code restante serve --for-tests} has the
 * ports, the preset and the data. It stops when it is closed, and with this process, even if that
 * is killed.
 */
public final class Server implements AutoCloseable {
  private static final long MAX_START = 30;
  private static final long MAX_STOP = 15;
  private static final int MAX_LOG = 2_000;
  private final Process process;
  private final Greeting greeting;

  /** The line that the server prints when it is ready. */
  private record Greeting(
      String url, String apiKey, Smtp smtp, String mailDomain, String mailpitUrl, String log) {}

  private Server(Process process, Greeting greeting) {
    this.process = process;
    this.greeting = greeting;
  }

  /**
   * Starts a server. It gets the environment: {@code RESTANTE_SMTP_LISTEN=127.0.0.1:1025} sets a
   * fixed port.
   *
   * @param apiKey the key of its default project; empty for that of the environment, or a new one
   * @param flags additional flags of {@code restante serve --for-tests}
   * @return the server
   */
  public static Server start(String apiKey, List<String> flags) {
    try (Binary program = Binary.find()) {
      List<String> command = new ArrayList<>(List.of(program.path(), "serve", "--for-tests"));
      command.addAll(flags);
      ProcessBuilder builder = new ProcessBuilder(command);
      if (!apiKey.isEmpty()) {
        builder.environment().put("RESTANTE_API_KEY", apiKey);
      }
      Process process = builder.start();
      try {
        return new Server(process, greeting(process));
      } catch (IOException | RuntimeException error) {
        process.destroyForcibly();
        throw error;
      }
    } catch (IOException error) {
      throw new UnreachableException("no server was started: " + error.getMessage(), 0, error);
    }
  }

  private static Greeting greeting(Process process) throws IOException {
    CompletableFuture<?> late =
        CompletableFuture.runAsync(
            process::destroyForcibly,
            CompletableFuture.delayedExecutor(MAX_START, TimeUnit.SECONDS));
    String line = process.inputReader(StandardCharsets.UTF_8).readLine();
    late.cancel(false);
    if (line == null) {
      byte[] reason = process.getErrorStream().readAllBytes();
      String text = "the server did not start: " + new String(reason, StandardCharsets.UTF_8);
      throw new UnreachableException(text.strip(), 0, null);
    }
    try {
      Greeting said = Connection.JSON.readValue(line, Greeting.class);
      if (said != null && said.url() != null && said.smtp() != null) {
        return said;
      }
    } catch (IOException error) {
      // The exception below quotes the line.
    }
    String text = "the program in RESTANTE_BIN is not Restante. It printed: " + line;
    throw new UnreachableException(text, 0, null);
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
    String mailpit = Settings.or(greeting.mailpitUrl(), greeting.url() + "/mailpit");
    return new Settings(
        greeting.url(), greeting.apiKey(), null, greeting.smtp(), greeting.mailDomain(), mailpit);
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
    return Path.of(greeting.log());
  }

  /** Stops the server gracefully, which removes its data. */
  @Override
  public void close() {
    try {
      process.getOutputStream().close(); // The server ends with its standard input.
    } catch (IOException error) {
      // It has ended.
    }
    try {
      if (!process.waitFor(MAX_STOP, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException error) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
