package io.github.restante.junit5;

import io.github.restante.Smtp;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.util.ReflectionUtils;

/** Sets Spring's mail server in tests with {@link RestanteTest}. Spring finds this class. */
public final class SpringMail implements ContextCustomizerFactory {
  /** For Spring. */
  public SpringMail() {}

  @Override
  public ContextCustomizer createContextCustomizer(
      Class<?> test, List<ContextConfigurationAttributes> attributes) {
    return usesRestante(test) ? new Customizer() : null;
  }

  /** Whether the test class, a class around it, or one of its methods has the annotation. */
  private static boolean usesRestante(Class<?> test) {
    return TestContextAnnotationUtils.hasAnnotation(test, RestanteTest.class)
        || Stream.of(ReflectionUtils.getAllDeclaredMethods(test))
            .anyMatch(method -> AnnotatedElementUtils.hasAnnotation(method, RestanteTest.class));
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
