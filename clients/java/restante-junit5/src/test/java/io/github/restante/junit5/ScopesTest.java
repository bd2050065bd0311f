package io.github.restante.junit5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.restante.Inbox;
import io.github.restante.NotFoundException;
import io.github.restante.Outgoing;
import io.github.restante.Restante;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Whose an inbox is, how long it stays, and in which report its mail is. */
class ScopesTest {
  private final Restante client = RestanteRun.client();

  private static EngineExecutionResults run(Class<?> example) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(example))
        .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
        .execute();
  }

  private static String reportOf(EngineExecutionResults results) {
    Throwable error =
        results.testEvents().failed().stream()
            .findFirst()
            .orElseThrow()
            .getRequiredPayload(TestExecutionResult.class)
            .getThrowable()
            .orElseThrow();
    return error.getSuppressed()[0].toString();
  }

  private void isDeleted(Inbox inbox) {
    assertThrows(NotFoundException.class, () -> client.inbox(inbox.id()));
  }

  @Test
  void theInboxOfAClassIsDeletedAfterItsTestsHavePassed() {
    run(Passing.class).testEvents().assertStatistics(found -> found.succeeded(3).failed(0));

    isDeleted(Passing.ofClass);
  }

  @Test
  void theInboxOfAClassStaysAfterAFailureAndItsMailIsInTheReport() {
    String report = reportOf(run(Failing.class));

    assertTrue(report.contains("\"Welcome\" from"), report);
    assertEquals(Failing.ofClass.address(), client.inbox(Failing.ofClass.id()).address());
  }

  @Test
  void aTestThatWasAbortedHasNotFailed() {
    run(Aborted.class).testEvents().assertStatistics(found -> found.aborted(1).failed(0));

    isDeleted(Aborted.inbox);
    isDeleted(Aborted.ofClass);
  }

  @Test
  void theInboxOfAConstructorIsThatOfTheTest() {
    run(Constructed.class).testEvents().assertStatistics(found -> found.succeeded(2).failed(0));

    assertEquals(2, Constructed.inboxes.size());
    assertNotEquals(Constructed.inboxes.get(0).id(), Constructed.inboxes.get(1).id());
    Constructed.inboxes.forEach(this::isDeleted);
  }

  @Test
  void anInstanceOfAllTestsHasOneInbox() {
    run(OneInstance.class).testEvents().assertStatistics(found -> found.succeeded(1).failed(1));

    assertEquals(OneInstance.inbox.address(), client.inbox(OneInstance.inbox.id()).address());
  }

  @Test
  void theInboxOfAnAddressStays() {
    String report = reportOf(run(Addressed.class));

    assertTrue(report.contains("mail of scopes@app.example"), report);
    assertEquals("scopes@app.example", client.inbox("scopes@app.example").address());
  }

  @Test
  void aFailedSetUpOfAClassShowsItsMail() {
    EngineExecutionResults results = run(FailedSetUp.class);

    Throwable error =
        results.containerEvents().failed().stream()
            .findFirst()
            .orElseThrow()
            .getRequiredPayload(TestExecutionResult.class)
            .getThrowable()
            .orElseThrow();
    assertTrue(error.getSuppressed()[0].toString().contains("mail of "), error::toString);
  }

  @RestanteTest
  static class Passing {
    static Inbox ofClass;

    @BeforeAll
    static void start(Inbox inbox) {
      ofClass = inbox;
    }

    @RepeatedTest(2)
    void isStillThere(Inbox inbox, Restante client) {
      assertNotEquals(ofClass.id(), inbox.id());
      client.inbox(ofClass.id());
    }

    @Nested
    class Inner {
      @Test
      void isThereToo(Restante client) {
        client.inbox(ofClass.id());
      }
    }
  }

  @RestanteTest
  static class Failing {
    static Inbox ofClass;

    @BeforeAll
    static void start(Inbox inbox) {
      ofClass = inbox;
      inbox.send(new Outgoing(inbox.address(), "Welcome", "Hello"));
      RestanteRun.client().inbox(inbox.id()).waitForMessage();
    }

    @Nested
    class Inner {
      @Test
      void fails() {
        throw new AssertionError("this test fails");
      }
    }
  }

  @RestanteTest
  static class Aborted {
    static Inbox ofClass;
    static Inbox inbox;

    @BeforeAll
    static void start(Inbox inbox) {
      ofClass = inbox;
    }

    @Test
    void isAborted(Inbox inbox) {
      Aborted.inbox = inbox;
      assumeTrue(false);
    }
  }

  @RestanteTest
  static class Constructed {
    static final List<Inbox> inboxes = new ArrayList<>();
    private final Inbox own;

    Constructed(Inbox inbox) {
      own = inbox;
      inboxes.add(inbox);
    }

    @RepeatedTest(2)
    void isThatOfTheTest(Inbox inbox) {
      assertSame(own, inbox);
    }
  }

  @RestanteTest
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  static class OneInstance {
    static Inbox inbox;

    OneInstance(Inbox inbox) {
      OneInstance.inbox = inbox;
    }

    @Test
    void passes(Inbox other) {
      assertNotEquals(inbox.id(), other.id());
    }

    @Test
    void fails() {
      throw new AssertionError("this test fails");
    }
  }

  @RestanteTest
  static class Addressed {
    @Test
    void fails(@InboxFor("scopes@app.example") Inbox inbox) {
      assertEquals("scopes@app.example", inbox.address());
      throw new AssertionError("this test fails");
    }
  }

  @RestanteTest
  static class FailedSetUp {
    @BeforeAll
    static void fails(Inbox inbox) {
      throw new AssertionError("this set-up fails");
    }

    @Test
    void doesNotRun() {
      throw new AssertionError("this test does not run");
    }
  }
}
