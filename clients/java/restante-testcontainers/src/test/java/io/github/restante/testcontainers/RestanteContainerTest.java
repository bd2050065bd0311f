package io.github.restante.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.testcontainers.utility.DockerImageName;

/** What is known without a container engine. */
class RestanteContainerTest {
  private static RestanteContainer container() {
    return new RestanteContainer(DockerImageName.parse("restante"));
  }

  private static String key(RestanteContainer container) {
    return container.getEnvMap().get("RESTANTE_API_KEY");
  }

  @Test
  void eachContainerHasItsOwnKey() {
    String key = key(container());
    assertTrue(key.matches("rst_live_[a-z0-9]{32}"), key);
    assertNotEquals(key, key(container()));
  }

  @Test
  void aKeyCanBeChosen() {
    String key = "rst_live_0123456789abcdef";
    assertEquals(key, key(container().withApiKey(key)));
  }
}
