package io.github.restante;

/** No server answers, another one than Restante answers, or it cannot be started. */
public class UnreachableException extends RestanteException {
  private static final long serialVersionUID = 1L;

  UnreachableException(String message, int status, Throwable cause) {
    super(message, status, cause);
  }
}
