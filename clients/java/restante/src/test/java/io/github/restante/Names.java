package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The results of a scenario's steps by their names, and what {@code ${name.field}} is. */
final class Names {
  private static final Pattern REFERENCE = Pattern.compile("\\$\\{([^}]+)\\}");
  private final Names parent;
  private final Map<String, Optional<Object>> values = new ConcurrentHashMap<>();

  Names(Names parent) {
    this.parent = parent;
  }

  void put(String name, Object value) {
    values.put(name, Optional.ofNullable(value));
  }

  Object get(String name) {
    Optional<Object> found = values.get(name);
    if (found != null) {
      return found.orElse(null);
    }
    if (parent == null) {
      throw new AssertionError("there is no result " + name);
    }
    return parent.get(name);
  }

  /** The value with every reference replaced. */
  JsonNode filled(JsonNode value) {
    if (value.isTextual()) {
      String text =
          REFERENCE
              .matcher(value.asText())
              .replaceAll(found -> Matcher.quoteReplacement(lookup(found.group(1))));
      return TextNode.valueOf(text);
    }
    if (value.isArray()) {
      ArrayNode filled = Connection.JSON.createArrayNode();
      value.forEach(item -> filled.add(filled(item)));
      return filled;
    }
    if (!value.isObject()) {
      return value;
    }
    ObjectNode filled = Connection.JSON.createObjectNode();
    value.properties().forEach(field -> filled.set(field.getKey(), filled(field.getValue())));
    return filled;
  }

  private String lookup(String path) {
    String[] parts = path.split("\\.", 2);
    JsonNode value = Expectation.json(get(parts[0]));
    if (parts.length == 1) {
      return value.asText();
    }
    if (!parts[1].equals("mistyped")) {
      return value.path(parts[1]).asText();
    }
    String address = value.path("address").asText();
    return (address.startsWith("0") ? "1" : "0") + address.substring(1);
  }
}
