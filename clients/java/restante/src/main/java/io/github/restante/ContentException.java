package io.github.restante;

/** The message has not exactly one code or link that matches. */
public class ContentException extends RestanteException {
  private static final long serialVersionUID = 1L;

  ContentException(String message, int status, Throwable cause) {
    super(message, status, cause);
  }
}
