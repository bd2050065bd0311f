package io.github.restante;

/** The API key is missing or wrong. */
public class UnauthorizedException extends RestanteException {
  private static final long serialVersionUID = 1L;

  UnauthorizedException(String message, int status, Throwable cause) {
    super(message, status, cause);
  }
}
