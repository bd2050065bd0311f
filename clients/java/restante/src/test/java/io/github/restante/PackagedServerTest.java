package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The artifact restante-server-PLATFORM: without RESTANTE_BIN and PATH, its program is started. */
class PackagedServerTest {
  private static final Map<String, String> NO_PROGRAM = Map.of("RESTANTE_BIN", "", "PATH", "");

  @Test
  void theProgramIsTakenOutOfTheArtifact(@TempDir Path folder) throws Exception {
    Path jar = artifact(folder.resolve("artifacts"));
    Path temporary = Files.createDirectory(folder.resolve("temporary"));
    Process process = OtherProcess.start(temporary, NO_PROGRAM, jar);
    String printed = process.inputReader().readLine();
    assertTrue(printed.startsWith("ok "), printed);
    try (Stream<Path> left = Files.list(temporary)) {
      assertTrue(left.noneMatch(Files::isRegularFile), "the copy of the program is still there");
    }
    process.getOutputStream().close();
    assertEquals(0, process.waitFor());
    OtherProcess.assertNothingIsLeft(temporary);
  }

  @Test
  void withoutTheArtifactTheExceptionNamesIt(@TempDir Path folder) throws Exception {
    Process process = OtherProcess.start(folder, NO_PROGRAM);
    String printed = new String(process.getInputStream().readAllBytes());
    String artifact = "io.github.restante:restante-server-" + Binary.platform();
    assertTrue(printed.contains(artifact), printed);
    assertEquals(1, process.waitFor());
  }

  @Test
  void anEntryOfPathMayBeQuotedOrInvalid(@TempDir Path folder) throws IOException {
    Path program = Files.createFile(folder.resolve(Binary.PROGRAM));
    assertTrue(program.toFile().setExecutable(true));
    String path = String.join(File.pathSeparator, "\0", "\"", '"' + folder.toString() + '"');
    assertEquals(program, Binary.onPath(path));
  }

  /** Packs the program of the tests, as the workflow does with the released ones. */
  private static Path artifact(Path out) throws IOException, InterruptedException {
    String binary = System.getenv("RESTANTE_BIN");
    Process packing =
        new ProcessBuilder("python3", "../../packages/maven.py", binary, out.toString())
            .redirectErrorStream(true)
            .start();
    String printed = new String(packing.getInputStream().readAllBytes());
    assertEquals(0, packing.waitFor(), printed);
    try (Stream<Path> files = Files.list(out)) {
      return files
          .filter(file -> file.toString().matches(".*-[0-9.]+\\.jar"))
          .findAny()
          .orElseThrow();
    }
  }
}
