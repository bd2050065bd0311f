package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A program in a Java of its own that starts a server with the client. */
final class OtherProcess {
  private static final Duration MAX_STOP = Duration.ofSeconds(60);

  private OtherProcess() {}

  /** Starts a server, prints its status and its address, and stops it after its standard input. */
  public static void main(String[] arguments) throws IOException {
    try (Restante client = Restante.connectForRun()) {
      System.out.println(client.health().status() + " " + client.url());
      while (System.in.read() >= 0) {
        // Until the test closes it.
      }
      System.out.println(client.health().status());
    }
  }

  /** Starts it with a directory for temporary files, and with more on the class path. */
  static Process start(Path temporary, Map<String, String> environment, Path... more)
      throws IOException {
    StringBuilder classPath = new StringBuilder(System.getProperty("java.class.path"));
    for (Path path : more) {
      classPath.append(File.pathSeparator).append(path);
    }
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Djava.io.tmpdir=" + temporary,
            "-classpath",
            classPath.toString(),
            OtherProcess.class.getName());
    builder.environment().put("TMPDIR", temporary.toString());
    builder.environment().putAll(environment);
    builder.redirectErrorStream(true);
    return builder.start();
  }

  /** Waits until the server has ended, which leaves no directory, and nothing that it published. */
  static void assertNothingIsLeft(Path temporary) {
    long deadline = System.nanoTime() + MAX_STOP.toNanos();
    while (!left(temporary).isEmpty()) {
      assertTrue(System.nanoTime() < deadline, () -> "left: " + left(temporary));
    }
  }

  private static List<Path> left(Path temporary) {
    try (Stream<Path> found = Files.walk(temporary, 2)) {
      return found
          .filter(path -> path.getFileName().toString().matches("server-.*|.*json"))
          .toList();
    } catch (IOException | UncheckedIOException error) {
      return List.of(temporary); // It is being removed.
    }
  }
}
