package io.github.restante.junit5;

import static io.github.restante.Filter.header;
import static io.github.restante.Filter.subject;
import static io.github.restante.Filter.timeout;
import static io.github.restante.assertj.MessageAssert.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.NotFoundException;
import io.github.restante.Outgoing;
import io.github.restante.Restante;
import io.github.restante.WaitTimeoutException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.reporting.OutputDirectoryProvider;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

@RestanteTest
class ExtensionTest {
  @RepeatedTest(40)
  void forty(Inbox inbox, Inbox sender) {
    CompletableFuture<?> sent =
        CompletableFuture.runAsync(
            () -> sender.send(new Outgoing(inbox.address(), "Confirm", "Your code is 482913.")));
    Message mail = inbox.waitForMessage(subject("confirm"));
    assertThat(mail).hasCode("482913").doesNotHaveLink("/track");
    assertThrows(AssertionError.class, () -> assertThat(mail).hasCode("1234"));
    assertThrows(AssertionError.class, () -> assertThat(mail).hasLink("/confirm"));
    sent.join();
  }

  @Test
  void twoParametersAreTwoInboxes(Inbox ada, Inbox bob, Restante client) {
    assertNotEquals(ada.address(), bob.address());
    assertEquals(ada.id(), client.inbox(ada.address()).id());
  }

  @Test
  void forwardSendsTheMessageAsItIs(Inbox inbox, Inbox colleague, Inbox sender) {
    sender.send(new Outgoing(inbox.address(), "Welcome", "Hello"));
    inbox.waitForMessage().forward(colleague.address());

    Message mail = colleague.waitForMessage(subject("Welcome"), header("Resent-From", inbox.id()));

    assertEquals(sender.address(), mail.from());
  }

  @Test
  void theChecksListTheProblems(Inbox inbox) {
    inbox.send(new Outgoing(inbox.address(), "Welcome", "Hello {{name}}"));
    Message mail = inbox.waitForMessage();

    AssertionError error =
        assertThrows(AssertionError.class, () -> assertThat(mail).passesChecks());

    for (String part : List.of("\n  error placeholder: ", "Hello {{name}}")) {
      assertTrue(error.getMessage().contains(part), error.getMessage());
    }
    assertThat(mail).passesChecks("placeholder");
  }

  @Test
  void aFailureShowsTheMailAndAPassedTestDeletesItsInbox(@TempDir Path files) throws IOException {
    EngineExecutionResults results =
        EngineTestKit.engine("junit-jupiter")
            .selectors(selectClass(Examples.class))
            .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
            .outputDirectoryProvider(new OneDirectory(files))
            .execute();
    results.testEvents().assertStatistics(found -> found.succeeded(1).failed(1));
    Throwable error =
        results.testEvents().failed().stream()
            .findFirst()
            .orElseThrow()
            .getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class)
            .getThrowable()
            .orElseThrow();
    String listed = error.getSuppressed()[0].toString();
    for (String part :
        List.of(
            "\"Welcome\" from", "code 482913", "link https://app.example/c/1", "timeline of ")) {
      assertTrue(listed.contains(part), listed);
    }
    assertTrue(error.getMessage().contains("not: subject"), error.getMessage());
    Map<String, String> entries =
        results.allEvents().reportingEntryPublished().stream()
            .findFirst()
            .orElseThrow()
            .getRequiredPayload(ReportEntry.class)
            .getKeyValuePairs();
    assertEquals(listed, entries.get("mail of this test"));
    String why = entries.get("why no message arrived");
    assertTrue(why.startsWith("Expected subject "), why);
    String link = entries.get("what happened during the wait");
    assertTrue(link.contains("/failures/") && error.getMessage().contains(link), link);
    checkSummary(files.resolve("summary.md"), (WaitTimeoutException) error);
    assertEquals(3, results.allEvents().fileEntryPublished().count());
    String timeline = Files.readString(files.resolve("timeline-" + Examples.id + ".txt"));
    for (String part : List.of(" created", "\n    http://restante.localhost:", "/failures/")) {
      assertTrue(timeline.contains(part), timeline);
    }
    for (String name : Examples.files) {
      assertTrue(Files.readString(files.resolve(name)).contains("482913"), name);
    }
    Restante client = RestanteRun.client();
    assertThrows(NotFoundException.class, () -> client.inbox(Examples.passed));
    assertEquals(Examples.failed, client.inbox(Examples.failed).address());
  }

  @Test
  void theFilesOfAnAddressWithASlashArePublished(@TempDir Path files) throws IOException {
    EngineExecutionResults results =
        EngineTestKit.engine("junit-jupiter")
            .selectors(selectClass(Slash.class))
            .outputDirectoryProvider(new OneDirectory(files))
            .execute();

    assertEquals(4, results.allEvents().fileEntryPublished().count());
    String timeline = Files.readString(files.resolve("timeline-qa%2Fada.txt"));
    assertTrue(timeline.contains("\"Welcome\" from "), timeline);
  }

  private static void checkSummary(Path file, WaitTimeoutException error) throws IOException {
    new JobSummary(file).note("SignUpTest › [fails](x)", error);
    String text = Files.readString(file);
    String head = "### No mail: SignUpTest › &#91;fails&#93;(x)\n\nExpected subject";
    assertTrue(text.startsWith(head), text);
    assertTrue(text.contains("\n````text\nno message with subject"), text);
    assertTrue(text.contains("[What happened during this wait](<" + error.link() + ">)"), text);
  }

  /** Puts the files of all tests into one directory. */
  private record OneDirectory(Path getRootDirectory) implements OutputDirectoryProvider {
    @Override
    public Path createOutputDirectory(TestDescriptor test) {
      return getRootDirectory;
    }
  }

  /** Not found by the build, because it is nested and static. */
  @RestanteTest
  static class Slash {
    @Test
    void fails(@InboxFor("qa/ada@restante.example.com") Inbox inbox, Inbox sender) {
      sender.send(new Outgoing(inbox.address(), "Welcome", "Hello"));
      inbox.waitForMessage();
      throw new AssertionError("this test fails");
    }
  }

  /** Not found by the build, because it is nested and static. */
  @RestanteTest
  static class Examples {
    static String passed;
    static String failed;
    static String id;
    static List<String> files;
    private Inbox before;

    @BeforeEach
    void remember(Inbox inbox) {
      before = inbox;
    }

    @Test
    void passes(Inbox inbox) {
      assertSame(before, inbox);
      passed = inbox.address();
    }

    @Test
    void fails(Inbox inbox) {
      failed = inbox.address();
      id = inbox.id();
      String text = "Your code is 482913: https://app.example/c/1";
      inbox.send(new Outgoing(inbox.address(), "Welcome", text));
      String id = RestanteRun.client().inbox(inbox.id()).waitForMessage().id();
      files = List.of("mail-" + id + ".eml", "mail-" + id + ".html");
      inbox.waitForMessage(subject("confirm"), timeout(Duration.ofMillis(300)));
    }
  }
}
