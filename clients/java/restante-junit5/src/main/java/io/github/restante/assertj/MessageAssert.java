package io.github.restante.assertj;

import io.github.restante.ContentException;
import io.github.restante.Message;
import io.github.restante.model.Code;
import java.util.List;
import org.assertj.core.api.AbstractAssert;

/** Assertions on a message, for AssertJ. */
public final class MessageAssert extends AbstractAssert<MessageAssert, Message> {
  private MessageAssert(Message actual) {
    super(actual, MessageAssert.class);
  }

  /**
   * Starts assertions on a message.
   *
   * @param message the message
   * @return the assertions
   */
  public static MessageAssert assertThat(Message message) {
    return new MessageAssert(message);
  }

  /**
   * The message has a labelled one-time code, or several. {@link Message#code()} fails for several.
   *
   * @return this
   */
  public MessageAssert hasCode() {
    isNotNull();
    if (codes().isEmpty()) {
      try {
        actual.code();
      } catch (ContentException error) {
        failWithMessage("%s", error.getMessage());
      }
    }
    return this;
  }

  /**
   * One of the message's labelled one-time codes is this one.
   *
   * @param code the code
   * @return this
   */
  public MessageAssert hasCode(String code) {
    hasCode();
    List<String> found = codes();
    if (!found.contains(code)) {
      failWithMessage("expected the code %s in %s, but its codes are %s", code, actual, found);
    }
    return this;
  }

  /**
   * At least one link contains a text.
   *
   * @param contained the text
   * @return this
   */
  public MessageAssert hasLink(String contained) {
    isNotNull();
    if (linksWith(contained).isEmpty()) {
      failWithMessage(
          "expected a link that contains %s in %s, but its links are %s",
          contained, actual, actual.links());
    }
    return this;
  }

  /**
   * No link contains a text.
   *
   * @param contained the text
   * @return this
   */
  public MessageAssert doesNotHaveLink(String contained) {
    isNotNull();
    List<String> found = linksWith(contained);
    if (!found.isEmpty()) {
      failWithMessage(
          "expected no link that contains %s in %s, but found %s", contained, actual, found);
    }
    return this;
  }

  /**
   * The checks of the server find no error in the message: no placeholder that nobody has filled,
   * no link that leads nowhere, and more. The failure lists all problems with their lines.
   *
   * @param ignore the names of checks that do not matter
   * @return this
   */
  public MessageAssert passesChecks(String... ignore) {
    isNotNull();
    try {
      actual.check(ignore);
    } catch (ContentException error) {
      failWithMessage("%s", error.getMessage());
    }
    return this;
  }

  private List<String> codes() {
    return actual.details().codes().stream().map(Code::code).toList();
  }

  private List<String> linksWith(String contained) {
    return actual.links().stream().filter(link -> link.contains(contained)).toList();
  }
}
