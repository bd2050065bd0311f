package io.github.restante;

/** A message arrived although none was expected. */
public class UnexpectedMessageException extends RestanteException {
  private static final long serialVersionUID = 1L;
  private final transient Message received;

  UnexpectedMessageException(String text, Message received) {
    super(text);
    this.received = received;
  }

  /**
   * The message that arrived.
   *
   * @return the message
   */
  public Message received() {
    return received;
  }
}
