package io.github.restante;

/** The base class of all exceptions of the client. No message contains the API key. */
public class RestanteException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private final int status;

  RestanteException(String message) {
    this(message, 0, null);
  }

  RestanteException(String message, int status, Throwable cause) {
    super(message, cause);
    this.status = status;
  }

  /**
   * The HTTP status, or 0 if this is not a response of the server.
   *
   * @return the status
   */
  public int status() {
    return status;
  }
}
