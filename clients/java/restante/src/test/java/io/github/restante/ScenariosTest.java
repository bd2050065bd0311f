package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What every client must do: clients/scenarios.json against the real server. */
class ScenariosTest {
  private static Server shared;

  @BeforeAll
  static void start() {
    shared = Server.start("", List.of());
  }

  @AfterAll
  static void stop() {
    shared.close();
  }

  static Stream<Arguments> scenarios() throws IOException {
    JsonNode file = Connection.JSON.readTree(Path.of("../../scenarios.json").toFile());
    return StreamSupport.stream(file.path("scenarios").spliterator(), false)
        .map(scenario -> Arguments.of(scenario.path("name").asText(), scenario));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("scenarios")
  void scenario(String name, JsonNode scenario, @TempDir Path data) throws Exception {
    new Scenario(scenario, shared, data).play();
  }
}
