package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The processes of one run, such as Maven's forks, share a server. */
class SharedServerTest {
  @Test
  void itEndsWithTheLastOfThemAndLeavesNothing(@TempDir Path folder) throws Exception {
    Process killed = OtherProcess.start(folder, Map.of());
    Process other = OtherProcess.start(folder, Map.of());
    BufferedReader output = other.inputReader();
    String printed = output.readLine();
    assertTrue(printed.startsWith("ok http"), printed);
    assertEquals(printed, killed.inputReader().readLine());

    killed.destroyForcibly().waitFor();
    other.getOutputStream().close();

    assertEquals("ok", output.readLine());
    assertEquals(0, other.waitFor());
    OtherProcess.assertNothingIsLeft(folder);
  }
}
