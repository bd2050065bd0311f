package shop;

import static io.github.restante.Filter.subject;
import static io.github.restante.assertj.MessageAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.junit5.RestanteTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.client.TestRestTemplate;

@RestanteTest
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class SignUpTest {
  @Autowired private TestRestTemplate shop;

  @Test
  void signsUp(Inbox inbox) {
    shop.postForEntity("/sign-up?email={email}", null, Void.class, inbox.address());

    Message mail = inbox.waitForMessage(subject("confirm"));
    assertThat(mail).hasCode();
    String page =
        shop.postForObject(
            "/confirm?email={email}&code={code}", null, String.class, inbox.address(), mail.code());

    assertThat(page).isEqualTo("Welcome, " + inbox.address());
  }
}
