package io.github.restante.assertj;

import static io.github.restante.assertj.MessageAssert.assertThat;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.restante.ContentException;
import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.Outgoing;
import io.github.restante.junit5.RestanteTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An assertion and its negation are never both true or both false. */
@RestanteTest
class MessageAssertTest {
  private static boolean passes(Runnable assertion) {
    try {
      assertion.run();
      return true;
    } catch (AssertionError error) {
      return false;
    }
  }

  private static Message mail(Inbox inbox, String text) {
    inbox.send(new Outgoing(inbox.address(), "Welcome", text));
    return inbox.waitForMessage();
  }

  @ParameterizedTest
  @CsvSource({
    "Hello, false",
    "https://a.example/help, false",
    "https://a.example/track?1 https://a.example/help, true",
    "https://a.example/track?1 https://a.example/track?2, true",
  })
  void links(String text, boolean holds, Inbox inbox) {
    Message mail = mail(inbox, text);
    assertEquals(holds, passes(() -> assertThat(mail).hasLink("/track")));
    assertEquals(!holds, passes(() -> assertThat(mail).doesNotHaveLink("/track")));
  }

  @ParameterizedTest
  @CsvSource({
    "Order 482913 shipped., false, false",
    "Your code is 7710., true, false",
    "Your code is 482913., true, true",
    "'Your code is 7710.\nYour PIN is 482913.', true, true",
    "'Your code is 7710.\nYour PIN is 4829.', true, false",
  })
  void codes(String text, boolean hasOne, boolean isIt, Inbox inbox) {
    Message mail = mail(inbox, text.replace("\\n", "\r\n"));
    boolean[] found = {
      passes(() -> assertThat(mail).hasCode()), passes(() -> assertThat(mail).hasCode("482913"))
    };
    assertArrayEquals(new boolean[] {hasOne, isIt}, found, () -> mail.details().codes().toString());
  }

  @Test
  void aCodeThatIsNotThereNamesThoseThatAre(Inbox inbox) {
    Message mail = mail(inbox, "Your code is 7710.\r\nYour PIN is 4829.");
    AssertionError error =
        assertThrows(AssertionError.class, () -> assertThat(mail).hasCode("482913"));
    assertTrue(error.getMessage().endsWith("its codes are [7710, 4829]"), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"Hello, true", "Hello {{name}}, false", "Hello {{name}} {{code}}, false"})
  void checks(String text, boolean holds, Inbox inbox) {
    Message mail = mail(inbox, text);
    assertEquals(holds, passes(() -> assertThat(mail).passesChecks()));
    assertEquals(true, passes(() -> assertThat(mail).passesChecks("placeholder")));
  }

  @ParameterizedTest
  @CsvSource({"invoice*.pdf", "*"})
  void attachments(String name, Inbox inbox) {
    Message mail = mail(inbox, "Hello");
    String text = assertThrows(ContentException.class, () -> mail.attachment(name)).getMessage();
    assertTrue(text.contains("has 0 attachments that match"), text);
  }
}
