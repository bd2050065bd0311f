package io.github.restante;

/**
 * A message to send from an inbox. Null means: absent.
 *
 * @param to one address, without a name
 * @param subject the subject
 * @param text the plain text
 * @param html the HTML
 * @param inReplyTo the id of the message to which this one replies
 */
public record Outgoing(String to, String subject, String text, String html, String inReplyTo) {
  /**
   * A message with a plain text.
   *
   * @param to one address, without a name
   * @param subject the subject
   * @param text the plain text
   */
  public Outgoing(String to, String subject, String text) {
    this(to, subject, text, null, null);
  }
}
