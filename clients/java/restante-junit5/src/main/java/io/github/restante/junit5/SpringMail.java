package io.github.restante.junit5;

import io.github.restante.Smtp;
import java.util.List;
import java.util.Map;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;

/** Sets Spring's mail server in tests with {@link RestanteTest}. Spring finds this class. */
public final class SpringMail implements ContextCustomizerFactory {
  /** For Spring. */
  public SpringMail() {}

  @Override
  public ContextCustomizer createContextCustomizer(
      Class<?> test, List<ContextConfigurationAttributes> attributes) {
    return AnnotatedElementUtils.hasAnnotation(test, RestanteTest.class) ? new Customizer() : null;
  }

  /** Equal for all tests, so that they share an application context. */
  private record Customizer() implements ContextCustomizer {
    @Override
    public void customizeContext(
        ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
      Smtp smtp = RestanteRun.client().smtp();
      Map<String, Object> settings =
          Map.of("spring.mail.host", smtp.host(), "spring.mail.port", smtp.port());
      context
          .getEnvironment()
          .getPropertySources()
          .addFirst(new MapPropertySource("restante", settings));
    }
  }
}
