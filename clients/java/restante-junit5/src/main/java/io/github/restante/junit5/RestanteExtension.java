package io.github.restante.junit5;

import io.github.restante.Inbox;
import io.github.restante.Message;
import io.github.restante.NotFoundException;
import io.github.restante.Restante;
import io.github.restante.RestanteException;
import io.github.restante.WaitTimeoutException;
import java.lang.reflect.Parameter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.MediaType;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.TestAbortedException;

/** Resolves the parameters of {@link RestanteTest}, and reports the mail of a failed test. */
public final class RestanteExtension
    implements BeforeAllCallback,
        ParameterResolver,
        TestExecutionExceptionHandler,
        LifecycleMethodExecutionExceptionHandler,
        AfterEachCallback,
        AfterAllCallback {
  private static final Namespace NAMESPACE = Namespace.create(RestanteExtension.class);
  private static final MediaType HTML = MediaType.parse("text/html");
  private static final MediaType EML = MediaType.parse("message/rfc822");

  /** Keeps a saved page from loading content and from running scripts. */
  private static final String NOTHING_REMOTE =
      "<!DOCTYPE html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
          + " style-src 'unsafe-inline'; img-src data:\">";

  /** For JUnit. */
  public RestanteExtension() {}

  /** Without a server, this is the reason of the class: Spring would add its own text before it. */
  @Override
  public void beforeAll(ExtensionContext context) {
    RestanteRun.client();
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == Inbox.class || type == Restante.class;
  }

  /** JUnit adds its own text to any other exception, before the reason. */
  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    try {
      return resolved(parameter, context);
    } catch (RestanteException error) {
      throw new ParameterResolutionException(error.getMessage(), error);
    }
  }

  private static Object resolved(ParameterContext parameter, ExtensionContext context) {
    Restante client = RestanteRun.client();
    if (parameter.getParameter().getType() == Restante.class) {
      return client;
    }
    TestMail mail = mail(context);
    return parameter
        .findAnnotation(InboxFor.class)
        .map(fixed -> mail.fixed(client, fixed.value()))
        .orElseGet(() -> mail.created(client, indexOf(parameter)));
  }

  @Override
  public void handleTestExecutionException(ExtensionContext context, Throwable error)
      throws Throwable {
    throw reason(error);
  }

  @Override
  public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable error)
      throws Throwable {
    throw reason(error);
  }

  @Override
  public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable error)
      throws Throwable {
    throw reason(error);
  }

  /** Why a parameter has no inbox, without the exception of JUnit around it. */
  private static Throwable reason(Throwable error) {
    boolean isOurs = error.getCause() instanceof RestanteException;
    return error instanceof ParameterResolutionException && isOurs ? error.getCause() : error;
  }

  /** Counts the inboxes among the parameters before this one. */
  private static int indexOf(ParameterContext context) {
    int index = 0;
    Parameter[] parameters = context.getDeclaringExecutable().getParameters();
    for (Parameter parameter : List.of(parameters).subList(0, context.getIndex())) {
      if (parameter.getType() == Inbox.class && !parameter.isAnnotationPresent(InboxFor.class)) {
        index++;
      }
    }
    return index;
  }

  /** The mail of this test or class, and not that of the class around it. */
  private static TestMail mail(ExtensionContext context) {
    return context
        .getStore(NAMESPACE)
        .getOrComputeIfAbsent(
            context.getUniqueId(), key -> new TestMail(nameOf(context)), TestMail.class);
  }

  /** The class and the test. */
  private static String nameOf(ExtensionContext context) {
    return context
            .getParent()
            .filter(parent -> context.getTestMethod().isPresent())
            .map(parent -> parent.getDisplayName() + " › ")
            .orElse("")
        + context.getDisplayName();
  }

  /** The inbox of a constructor belongs to the test, unless the instance is that of all tests. */
  @Override
  public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
    return ExtensionContextScope.TEST_METHOD;
  }

  @Override
  public void afterEach(ExtensionContext context) {
    finish(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    finish(context);
  }

  /** Reports a failure, after which the inboxes of the test and of the classes around it stay. */
  private static void finish(ExtensionContext context) {
    context
        .getExecutionException()
        // An assumption that does not hold is no failure.
        .filter(error -> !(error instanceof TestAbortedException))
        .ifPresent(
            error -> {
              scopes(context).forEach(TestMail::keep);
              report(context, scopes(context).flatMap(TestMail::all).toList(), error);
            });
    mail(context).delete();
  }

  /** The mail of a test or class, and of the classes around it. */
  private static Stream<TestMail> scopes(ExtensionContext context) {
    return Stream.iterate(Optional.of(context), Optional::isPresent, each -> each.get().getParent())
        .map(each -> mail(each.get()));
  }

  private static void report(ExtensionContext context, List<Inbox> inboxes, Throwable error) {
    List<String> texts = new ArrayList<>();
    List<Message> shown = new ArrayList<>();
    List<Timeline> timelines = new ArrayList<>();
    for (Inbox inbox : inboxes) {
      try {
        List<Message> messages = TestMail.latest(inbox);
        texts.add(TestMail.listed(inbox, messages));
        shown.addAll(messages);
        timelines.add(Timeline.of(inbox));
      } catch (NotFoundException problem) {
        // A server of an earlier version has no timeline.
      } catch (RestanteException problem) {
        texts.add("cannot read the mail of " + inbox + ": " + problem.getMessage());
      }
    }
    timelines.forEach(timeline -> texts.add(timeline.inShort()));
    Map<String, String> entries = new LinkedHashMap<>(reportOfWait(context, error));
    if (!texts.isEmpty()) {
      String text = String.join("\n", texts);
      entries.put("mail of this test", text);
      error.addSuppressed(new MailOfTest(text));
    }
    if (!entries.isEmpty()) {
      context.publishReportEntry(entries);
    }
    timelines.forEach(timeline -> publish(context, timeline));
    shown.forEach(message -> publish(context, message));
  }

  /** The reason of a wait that timed out, which is also added to the summary of the CI job. */
  private static Map<String, String> reportOfWait(ExtensionContext context, Throwable error) {
    Map<String, String> entries = new LinkedHashMap<>();
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof WaitTimeoutException timeout) {
        if (timeout.explanation() != null) {
          entries.put("why no message arrived", timeout.explanation().summary());
        }
        if (timeout.link() != null) {
          entries.put("what happened during the wait", timeout.link());
        }
        JobSummary.ofEnvironment().note(nameOf(context), timeout);
        break;
      }
    }
    return entries;
  }

  /** The id of an inbox is the start of its address, which may contain a slash. */
  private static void publish(ExtensionContext context, Timeline timeline) {
    String id = URLEncoder.encode(timeline.inbox().id(), StandardCharsets.UTF_8);
    String name = "timeline-" + id.replace("*", "%2A") + ".txt";
    context.publishFile(
        name, MediaType.TEXT_PLAIN_UTF_8, path -> Files.writeString(path, timeline.text()));
  }

  /** Adds the message as received, and as a page. The id of a message is a safe file name. */
  private static void publish(ExtensionContext context, Message message) {
    byte[] raw;
    String page;
    try {
      raw = message.raw();
      page = NOTHING_REMOTE + message.page();
    } catch (RestanteException problem) {
      // It was deleted meanwhile; its text is in the report.
      return;
    }
    String name = "mail-" + message.id();
    context.publishFile(name + ".eml", EML, path -> Files.write(path, raw));
    context.publishFile(name + ".html", HTML, path -> Files.writeString(path, page));
  }
}
