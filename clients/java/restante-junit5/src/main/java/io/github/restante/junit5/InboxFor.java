package io.github.restante.junit5;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A parameter that is the inbox of a fixed address, for example that of a seeded user. Its first
 * wait starts after the newest message that is there now. The inbox is not deleted.
 */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface InboxFor {
  /**
   * The address.
   *
   * @return the address
   */
  String value();
}
