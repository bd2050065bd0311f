package io.github.restante;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Compares the result of a step with what a scenario expects. */
final class Expectation {
  private static final ObjectMapper JSON =
      Connection.JSON
          .copy()
          .setDefaultPropertyInclusion(JsonInclude.Include.ALWAYS)
          .registerModule(new SimpleModule().addSerializer(Instant.class, new Instants()));

  private Expectation() {}

  private static final class Instants extends StdSerializer<Instant> {
    private static final long serialVersionUID = 1L;

    Instants() {
      super(Instant.class);
    }

    @Override
    public void serialize(Instant value, JsonGenerator json, SerializerProvider provider)
        throws IOException {
      json.writeString(value.toString());
    }
  }

  /** A result the way the server would write it. */
  static JsonNode json(Object result) {
    if (result instanceof Inbox inbox) {
      return JSON.valueToTree(inbox.fields());
    }
    if (result instanceof Message message) {
      return JSON.valueToTree(message.fields());
    }
    if (result instanceof byte[] bytes) {
      return JSON.valueToTree(new String(bytes, StandardCharsets.UTF_8));
    }
    if (result instanceof Restante client) {
      return JSON.valueToTree(
          Map.of(
              "mail_domain", client.mailDomain(),
              "mailpit_url", client.mailpitUrl(),
              "smtp", client.smtp()));
    }
    if (result instanceof Attachment attachment) {
      ObjectNode fields = JSON.valueToTree(attachment.info());
      return fields.put("content", attachment.content());
    }
    if (result instanceof List<?> list) {
      return JSON.valueToTree(list.stream().map(Expectation::json).toList());
    }
    return JSON.valueToTree(result);
  }

  static boolean matches(JsonNode found, JsonNode wanted) {
    if (wanted.isObject()) {
      for (Map.Entry<String, JsonNode> field : wanted.properties()) {
        String name = field.getKey();
        boolean isMatch =
            name.startsWith("$")
                ? holds(found, name, field.getValue())
                : found.has(name) && matches(found.get(name), field.getValue());
        if (!isMatch) {
          return false;
        }
      }
      return true;
    }
    if (wanted.isArray()) {
      boolean isSame = found.isArray() && found.size() == wanted.size();
      for (int index = 0; isSame && index < wanted.size(); index++) {
        isSame = matches(found.get(index), wanted.get(index));
      }
      return isSame;
    }
    return wanted.isNumber() ? found.asDouble() == wanted.asDouble() : found.equals(wanted);
  }

  private static boolean holds(JsonNode found, String operator, JsonNode operand) {
    return switch (operator) {
      case "$contains" -> found.asText().contains(operand.asText());
      case "$matches" -> Pattern.compile(operand.asText()).matcher(found.asText()).find();
      case "$length" ->
          (found.isTextual() ? found.asText().length() : found.size()) == operand.asInt();
      case "$base64" -> found.asText().equals(operand.asText());
      default -> throw new AssertionError("unknown operator " + operator);
    };
  }

  static void checkError(RestanteException error, JsonNode wanted, JsonNode step) {
    String type = error.getClass().getSimpleName().replaceFirst("Exception$", "Error");
    StringWriter printed = new StringWriter();
    error.printStackTrace(new PrintWriter(printed));
    boolean isExpected = type.equals(wanted.path("type").asText());
    for (JsonNode part : wanted.path("message")) {
      isExpected &= error.getMessage().contains(part.asText());
    }
    for (JsonNode part : wanted.path("no")) {
      isExpected &= !printed.toString().contains(part.asText());
    }
    if (wanted.has("fields")) {
      JsonNode explanation = json(((WaitTimeoutException) error).explanation());
      isExpected &= matches(explanation, wanted.at("/fields/explanation"));
    }
    if (!isExpected) {
      throw new AssertionError(step + ": another error", error);
    }
  }
}
