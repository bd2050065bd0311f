package io.github.restante.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.restante.RestanteException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Every test says why no server was started, not only the first. */
class NoServerTest {
  @Test
  void everyTestHasTheReason() throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    ProcessBuilder builder =
        new ProcessBuilder(
            java, "-cp", System.getProperty("java.class.path"), TwoTests.class.getName());
    builder.environment().remove("RESTANTE_URL");
    builder.environment().put("RESTANTE_BIN", "/no/such/program");
    Process process = builder.redirectErrorStream(true).start();
    String text =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    String reason = "RESTANTE_BIN is set to a file that does not exist: /no/such/program";
    assertEquals(reason + "\n" + reason, text.replace("\r", ""));
  }

  /** A run with two tests that need the client. */
  static final class TwoTests {
    private TwoTests() {}

    public static void main(String[] arguments) {
      for (int test = 0; test < 2; test++) {
        try {
          RestanteRun.client();
        } catch (RestanteException error) {
          System.out.println(error.getMessage());
        }
      }
    }
  }
}
