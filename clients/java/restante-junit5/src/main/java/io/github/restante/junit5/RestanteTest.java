package io.github.restante.junit5;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives tests their inboxes as parameters: {@code Inbox} and {@code Restante}. A server is started
 * for the run, unless {@code RESTANTE_URL} is set. In a test with Spring, {@code spring.mail.host}
 * and {@code spring.mail.port} are those of the server.
 */
@Documented
@Inherited
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(RestanteExtension.class)
public @interface RestanteTest {}
