package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.restante.model.Fault;
import jakarta.mail.MessagingException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;

/** A step of a scenario, as a call of the client. */
record Step(Scenario scenario, JsonNode step, Names names) {
  Object run(String action) throws IOException, MessagingException {
    return switch (action) {
      case "client" -> scenario.client(text("url"), text("api_key"), timeout());
      case "health" -> client().health();
      case "create" ->
          step.has("label") ? client().createInbox(text("label")) : client().createInbox();
      case "totp" -> Totp.code(text("secret"));
      case "inbox_for" -> client().inboxFor(text("address"), step.path("label").asText());
      case "find" -> client().inbox(text("inbox"));
      case "message" -> client().message(text("id"));
      case "check" -> text("value");
      case "mail" -> mail();
      case "mail_over_tls" -> Mail.sendOverTls(scenario.server().settings().smtp(), text("to"));
      case "delete" -> delete();
      default -> step.has("message") ? message(action) : inbox(action);
    };
  }

  private Object mail() throws IOException, MessagingException {
    String reply = Mail.send(scenario.server().settings().smtp(), step);
    String wanted = step.path("refused").asText("250");
    if (!reply.startsWith(wanted)) {
      throw new AssertionError(step + ": the reply is " + reply);
    }
    return null;
  }

  private Object delete() {
    if (step.has("message")) {
      message().delete();
    } else {
      inbox().delete();
    }
    return null;
  }

  private Object message(String action) {
    Message message = message();
    return switch (action) {
      case "code" -> code(message);
      case "link" -> link(message);
      case "details" -> message.details();
      case "attachments" -> message.attachments();
      case "attachment" -> attachment(message);
      case "checks" -> message.checks();
      case "assert_checks" -> {
        message.check(
            StreamSupport.stream(step.path("ignore").spliterator(), false)
                .map(JsonNode::asText)
                .toArray(String[]::new));
        yield null;
      }
      case "raw" -> message.raw();
      case "forward" -> message.forward(text("to"));
      case "reply" -> message.reply(text("text"), text("html"));
      default -> throw new AssertionError("unknown step " + action);
    };
  }

  private String code(Message message) {
    JsonNode matching = step.path("matching");
    if (matching.isMissingNode()) {
      return message.code();
    }
    return matching.isObject() ? message.code(pattern(matching)) : message.code(matching.asText());
  }

  private Attachment attachment(Message message) {
    JsonNode name = step.path("name");
    if (name.isMissingNode()) {
      return message.attachment();
    }
    return name.isObject() ? message.attachment(pattern(name)) : message.attachment(name.asText());
  }

  private String link(Message message) {
    if (step.has("text")) {
      return message.linkText(text("text"));
    }
    JsonNode match = step.path("match");
    if (match.isMissingNode()) {
      return message.link();
    }
    return match.isObject() ? message.link(pattern(match)) : message.link(match.asText());
  }

  private Object inbox(String action) throws IOException {
    Inbox inbox = inbox();
    return switch (action) {
      case "wait" -> inbox.waitForMessage(filters());
      case "wait_messages" -> inbox.waitForMessages(step.path("count").asInt(), filters());
      case "expect_no_message" -> {
        inbox.expectNoMessage(duration(step.path("within")), filters());
        yield null;
      }
      case "messages" -> inbox.messages(filters());
      case "explain" -> inbox.explain(filters());
      case "send" ->
          inbox.send(
              new Outgoing(
                  text("to"), text("subject"), text("text"), text("html"), text("in_reply_to")));
      case "set_faults" ->
          inbox.setFaults(Connection.JSON.treeToValue(step.path("faults"), Fault[].class));
      case "faults" -> inbox.faults();
      default -> throw new AssertionError("unknown step " + action);
    };
  }

  private Filter[] filters() {
    List<Filter> filters = new ArrayList<>();
    step.properties().forEach(field -> add(filters, field.getKey(), field.getValue()));
    return filters.toArray(Filter[]::new);
  }

  private static void add(List<Filter> filters, String name, JsonNode value) {
    switch (name) {
      case "subject" -> filters.add(text(value, Filter::subject, Filter::subject));
      case "from" -> filters.add(text(value, Filter::from, Filter::from));
      case "to" -> filters.add(text(value, Filter::to, Filter::to));
      case "text" -> filters.add(text(value, Filter::text, Filter::text));
      case "header" ->
          value
              .properties()
              .forEach(
                  field ->
                      filters.add(
                          text(
                              field.getValue(),
                              text -> Filter.header(field.getKey(), text),
                              pattern -> Filter.header(field.getKey(), pattern))));
      case "has" ->
          StreamSupport.stream(value.spliterator(), false)
              .map(part -> has(part.asText()))
              .forEach(filters::add);
      case "where" ->
          filters.add(
              Filter.where(message -> Expectation.matches(Expectation.json(message), value)));
      case "after" -> filters.add(Filter.after(value.isNull() ? null : value.asText()));
      case "timeout" -> filters.add(Filter.timeout(duration(value)));
      default -> {
        // Not a filter.
      }
    }
  }

  private static Filter text(
      JsonNode value, Function<String, Filter> contained, Function<Pattern, Filter> pattern) {
    return value.isObject() ? pattern.apply(pattern(value)) : contained.apply(value.asText());
  }

  private static Filter has(String part) {
    return switch (part) {
      case "code" -> Filter.hasCode();
      case "otp" -> Filter.hasOtp();
      default -> Filter.hasLink();
    };
  }

  private static Pattern pattern(JsonNode value) {
    boolean anyCase = value.path("flags").asText().contains("i");
    return Pattern.compile(value.path("$regex").asText(), anyCase ? Pattern.CASE_INSENSITIVE : 0);
  }

  private Duration timeout() {
    return step.has("timeout") ? duration(step.path("timeout")) : Duration.ofSeconds(30);
  }

  private static Duration duration(JsonNode seconds) {
    return Duration.ofMillis((long) (seconds.asDouble() * 1000));
  }

  private String text(String name) {
    return step.has(name) ? step.path(name).asText() : null;
  }

  private Restante client() {
    return (Restante) names.get(step.path("client").asText());
  }

  private Inbox inbox() {
    return (Inbox) names.get(text("inbox"));
  }

  private Message message() {
    return (Message) names.get(text("message"));
  }
}
