package io.github.restante.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.restante.Inbox;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Every failure begins with the reason why there is no inbox. */
class NoServerTest {
  @Test
  void noProgram() throws IOException {
    String reason =
        "io.github.restante.UnreachableException: RESTANTE_BIN is set to a file that does not"
            + " exist: /no/such/program";
    Map<String, String> none = Map.of("RESTANTE_URL", "", "RESTANTE_BIN", "/no/such/program");

    assertEquals(List.of(reason, reason, reason), failures(none));
  }

  @Test
  void aWrongKey() throws IOException {
    Map<String, String> wrong =
        Map.of("RESTANTE_URL", RestanteRun.client().url(), "RESTANTE_API_KEY", "rst_live_wrong");

    List<String> failures = failures(wrong);

    assertEquals(3, failures.size());
    for (String failure : failures.subList(0, 2)) {
      String reason = "io.github.restante.UnauthorizedException: POST /v1/inboxes: 401 ";
      assertTrue(failure.startsWith(reason), failure);
    }
    assertTrue(failures.get(2).contains("Exception: POST /v1/inboxes: 401 "), failures.get(2));
  }

  /** Runs the examples in a process with this environment. */
  private static List<String> failures(Map<String, String> environment) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    ProcessBuilder builder =
        new ProcessBuilder(
            java, "-cp", System.getProperty("java.class.path"), Examples.class.getName());
    builder.environment().putAll(environment);
    Process process = builder.redirectErrorStream(true).start();
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
        .lines()
        .toList();
  }

  /** Prints the first line of each failure. */
  static final class Examples {
    private Examples() {}

    public static void main(String[] arguments) {
      for (Class<?> example : List.of(OfATest.class, OfASetUp.class, OfAConstructor.class)) {
        EngineTestKit.engine("junit-jupiter")
            .selectors(selectClass(example))
            .execute()
            .allEvents()
            .failed()
            .stream()
            .flatMap(it -> it.getRequiredPayload(TestExecutionResult.class).getThrowable().stream())
            .forEach(it -> System.out.println(it.toString().lines().findFirst().orElse("")));
      }
    }
  }

  @RestanteTest
  static class OfATest {
    @Test
    void fails(Inbox inbox) {}
  }

  @RestanteTest
  static class OfASetUp {
    @BeforeEach
    void fails(Inbox inbox) {}

    @Test
    void doesNotRun() {}
  }

  @RestanteTest
  static class OfAConstructor {
    OfAConstructor(Inbox inbox) {}

    @Test
    void doesNotRun() {}
  }
}
