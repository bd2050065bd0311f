package io.github.restante;

/** There is no such inbox, message or recipient for this key. */
public class NotFoundException extends RestanteException {
  private static final long serialVersionUID = 1L;

  NotFoundException(String message, int status, Throwable cause) {
    super(message, status, cause);
  }
}
