package senders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.github.restante.Attachment;
import io.github.restante.Faults;
import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.Restante;
import io.github.restante.junit5.RestanteTest;
import io.github.restante.model.Details;
import io.github.restante.model.Header;
import io.github.restante.model.Mailbox;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.ses.SesClient;
import software.amazon.awssdk.services.sesv2.SesV2Client;

/** Amazon's SDK for Java sends. The properties mean the same as AWS_ENDPOINT_URL_SESV2 and _SES. */
class SesTest {
  private static final StaticCredentialsProvider CREDENTIALS =
      StaticCredentialsProvider.create(
          AwsBasicCredentials.create("AKIAIOSFODNN7EXAMPLE", "secret"));

  @Nested
  class V2 extends Cases {
    private Version2 version2;

    @Override
    Sdk connect() {
      SesV2Client client =
          SesV2Client.builder().region(Region.US_EAST_1).credentialsProvider(CREDENTIALS).build();
      version2 = new Version2(client);
      return version2;
    }

    @Test
    void batch(Inbox one, Inbox other) {
      version2.batch(List.of(one.address(), other.address()));

      // An entry has no subject of its own: it is a variable of the template.
      assertThat(one.waitForMessage().text()).contains("\"Batch 0\"");
      assertThat(other.waitForMessage().text()).contains("\"Batch 1\"");
    }

    @Test
    void template(Inbox inbox) {
      version2.template(inbox.address(), "{\"code\": \"482913\"}");

      assertThat(inbox.waitForMessage().text()).contains("\"welcome\"", "\"code\"", "\"482913\"");
    }
  }

  @Nested
  class V1 extends Cases {
    @Override
    Sdk connect() {
      return new Version1(
          SesClient.builder().region(Region.US_EAST_1).credentialsProvider(CREDENTIALS).build());
    }
  }

  /** What each version must do. */
  @RestanteTest
  abstract static class Cases {
    private Sdk sdk;

    abstract Sdk connect();

    @BeforeEach
    void connectToTheServer(Restante restante) {
      System.setProperty("aws.endpointUrlSesV2", restante.url() + "/send/ses");
      System.setProperty("aws.endpointUrlSes", restante.url() + "/send/ses");
      sdk = connect();
    }

    @Test
    void plain(Inbox inbox) {
      sdk.simple(inbox.address(), "Plain");

      Message mail = inbox.waitForMessage();
      assertThat(List.of(mail.subject(), mail.text(), mail.html()))
          .containsExactly("Plain", "Hello", "");
    }

    @Test
    void whole(Inbox to, Inbox cc, Inbox bcc) {
      sdk.whole(to.address(), cc.address(), bcc.address());

      for (Inbox inbox : List.of(to, cc, bcc)) {
        Message mail = inbox.waitForMessage();
        assertThat(List.of(mail.subject(), mail.otp(), mail.link()))
            .containsExactly(Sdk.SUBJECT, "482913", "https://app.example/in");
        Details details = mail.details();
        assertThat(details.envelope().via()).isEqualTo("ses");
        assertThat(details.from()).containsExactly(new Mailbox("Zoë", "shop@app.example"));
        assertThat(details.to()).containsExactly(new Mailbox("Ada Lövelace", to.address()));
        assertThat(details.cc()).extracting(Mailbox::address).containsExactly(cc.address());
        assertThat(details.replyTo())
            .extracting(Mailbox::address)
            .containsExactly("help@app.example");
        assertThat(details.headers()).contains(new Header("X-Order", "4711"));
        assertThat(details.headers()).extracting(Header::name).doesNotContain("Bcc");
        assertThat(details.headers().toString()).doesNotContain(bcc.address());
        checkAttachments(mail.attachments());
      }
    }

    private static void checkAttachments(List<Attachment> attachments) {
      assertThat(attachments).hasSize(2);
      for (Attachment each : attachments) {
        boolean isInline = each.info().inline();
        assertThat(each.content()).isEqualTo(isInline ? Sdk.image() : Sdk.file());
        assertThat(isInline ? each.info().contentId() : each.info().filename())
            .isEqualTo(isInline ? "logo" : Sdk.FILE);
      }
    }

    @Test
    void refusedRecipient(Inbox inbox) {
      AwsServiceException error =
          catchThrowableOfType(
              AwsServiceException.class,
              () -> sdk.simple(inbox.id() + "@elsewhere.example", "Refused"));

      assertThat(error.statusCode()).isEqualTo(400);
      assertThat(error.awsErrorDetails().errorCode()).isEqualTo("MessageRejected");
      assertThat(error).hasMessageContaining("relay not permitted");
      assertThat(inbox.explain().summary())
          .contains("@elsewhere.example was rejected", "550 5.7.1");
    }

    @Test
    void retryOfTheSdk(Inbox inbox) {
      inbox.setFaults(Faults.atData("defer", 1));
      sdk.simple(inbox.address(), "Again");

      assertThat(inbox.waitForMessage().subject()).isEqualTo("Again");
      assertThat(inbox.faults().get(0).used()).isEqualTo(1);
    }
  }
}
