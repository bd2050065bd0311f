package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What killed processes leave behind is removed by the next one, and nothing else. */
class DirectoriesTest {
  private static final Duration MAX_STOP = Duration.ofSeconds(60);

  @Test
  void theNextServerRemovesTheDirectoriesOfKilledProcesses(@TempDir Path folder) throws Exception {
    Process running = OtherProcess.start(folder, "running", Map.of());
    BufferedReader output = running.inputReader();
    Path kept = Path.of(output.readLine().split(" ", 2)[1]);
    Path dead = Path.of(printed(OtherProcess.start(folder, "killed", Map.of())).split(" ", 2)[1]);
    Path other = Files.createDirectory(folder.resolve(ofOtherContainer(dead)));
    Path notes = Files.createDirectory(folder.resolve("restante-java-notes"));

    // The server of the killed process may be writing until it has seen the end.
    long deadline = System.nanoTime() + MAX_STOP.toNanos();
    do {
      Process next = OtherProcess.start(folder, "running", Map.of());
      next.getOutputStream().close();
      printed(next);
    } while (Files.exists(dead) && System.nanoTime() < deadline);

    assertEquals(Stream.of(kept, other, notes).sorted().toList(), entries(folder));
    assertTrue(Files.exists(kept.resolve("data")));
    running.getOutputStream().close();
    running.waitFor();
    assertEquals(Stream.of(other, notes).sorted().toList(), entries(folder));
  }

  /** The name of the directory of a process with this id in another container. */
  private static String ofOtherContainer(Path directory) {
    return directory.getFileName().toString().replaceFirst("-\\d+-(\\d+-\\d+)$", "-17-$1");
  }

  private static String printed(Process process) throws IOException, InterruptedException {
    try (BufferedReader output = process.inputReader()) {
      String line = output.readLine();
      process.waitFor();
      return line;
    }
  }

  private static List<Path> entries(Path folder) throws IOException {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.filter(path -> !path.toString().contains("hsperfdata")).sorted().toList();
    }
  }
}
