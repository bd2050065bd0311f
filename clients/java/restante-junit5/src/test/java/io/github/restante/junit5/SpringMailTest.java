package io.github.restante.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.context.ApplicationContext;
import org.springframework.test.context.junit.jupiter.SpringJUnitConfig;

/** In which tests Spring has the settings of the mail server. */
class SpringMailTest {
  private static void isSet(ApplicationContext context) {
    String port = Integer.toString(RestanteRun.client().smtp().port());
    assertEquals(port, context.getEnvironment().getProperty("spring.mail.port"));
  }

  @Nested
  @RestanteTest
  @SpringJUnitConfig(SpringMailTest.class)
  class OfAClass {
    @Test
    void hasThem(ApplicationContext context) {
      isSet(context);
    }

    @Nested
    class Inner {
      @Test
      void hasThemToo(ApplicationContext context) {
        isSet(context);
      }
    }
  }

  @Nested
  @SpringJUnitConfig(SpringMailTest.class)
  class OfAMethod {
    @Test
    @RestanteTest
    void hasThem(ApplicationContext context) {
      isSet(context);
    }
  }

  @Nested
  @SpringJUnitConfig(SpringMailTest.class)
  class OfNothing {
    @Test
    void hasNone(ApplicationContext context) {
      assertNull(context.getEnvironment().getProperty("spring.mail.port"));
    }
  }
}
