package io.github.restante;

/** The server does not accept the request. */
public class InvalidRequestException extends RestanteException {
  private static final long serialVersionUID = 1L;

  InvalidRequestException(String message, int status, Throwable cause) {
    super(message, status, cause);
  }
}
