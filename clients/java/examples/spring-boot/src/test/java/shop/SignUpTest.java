package shop;

import static io.github.restante.Filter.subject;
import static io.github.restante.assertj.MessageAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.junit5.RestanteTest;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.web.client.RestClient;

@RestanteTest
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class SignUpTest {
  @LocalServerPort private int port;

  @Test
  void signsUp(Inbox inbox) {
    RestClient shop = RestClient.create("http://localhost:" + port);
    shop.post().uri("/sign-up?email={email}", inbox.address()).retrieve().toBodilessEntity();

    Message mail = inbox.waitForMessage(subject("confirm"));
    assertThat(mail).hasCode();
    String page =
        shop.post()
            .uri("/confirm?email={email}&code={code}", inbox.address(), mail.code())
            .retrieve()
            .body(String.class);

    assertThat(page).isEqualTo("Welcome, " + inbox.address());
  }
}
