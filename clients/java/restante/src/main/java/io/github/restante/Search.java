package io.github.restante;

import io.github.restante.model.Header;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The filters of one call: the server applies texts, one header field and {@code has}; the others
 * are applied here.
 */
final class Search {
  /**
   * What a part of the message must contain, or in what the pattern must be found.
   *
   * @param name that of the filter in the API
   * @param field the name of a header field, or nothing
   */
  private record Text(String name, String field, String contained, Pattern pattern) {
    /** By which the filters are shown. */
    String shownName() {
      return field.isEmpty() ? name : name + " " + field;
    }

    /** The filter in the query. */
    String value() {
      return field.isEmpty() ? contained : field + ":" + contained;
    }

    boolean isIn(String text) {
      return pattern == null
          ? text.toLowerCase(Locale.ROOT).contains(contained.toLowerCase(Locale.ROOT))
          : pattern.matcher(text).find();
    }

    boolean isIn(Message message) {
      return switch (name) {
        case "subject" -> isIn(message.subject());
        case "from" -> isIn(message.from());
        case "text" -> isIn(message.text());
        case "to" -> Stream.of("To", "Cc").anyMatch(one -> isInField(message, one));
        default -> isInField(message, field);
      };
    }

    /** A message that was deleted in the meantime has no fields. */
    private boolean isInField(Message message, String field) {
      try {
        return message.details().headers().stream()
            .filter(header -> header.name().equalsIgnoreCase(field))
            .map(Header::value)
            .anyMatch(this::isIn);
      } catch (NotFoundException error) {
        return false;
      }
    }
  }

  /** By what they are shown with. */
  private final Map<String, Text> texts = new LinkedHashMap<>();

  final List<String> has = new ArrayList<>();
  Predicate<Message> where;

  /** Whether the caller has set where to start: after {@code after}, or with the first message. */
  boolean isFixed;

  String after;
  Duration timeout;

  static Search of(Filter... filters) {
    Search search = new Search();
    for (Filter filter : filters) {
      filter.applyTo(search);
    }
    return search;
  }

  void contains(String name, String field, String contained) {
    add(new Text(name, field, contained, null));
  }

  void matches(String name, String field, Pattern pattern) {
    add(new Text(name, field, null, pattern));
  }

  private void add(Text text) {
    texts.put(text.shownName().toLowerCase(Locale.ROOT), text);
  }

  /** The filters that the server applies. */
  Map<String, String> query(String after) {
    Map<String, String> query = new LinkedHashMap<>();
    for (Text text : texts.values()) {
      if (isOfServer(text)) {
        query.put(text.name(), text.value());
      }
    }
    if (!has.isEmpty()) {
      query.put("has", String.join(",", has));
    }
    if (after != null && !after.isEmpty()) {
      query.put("after", after);
    }
    return query;
  }

  /** The server knows texts, and one header field. */
  private boolean isOfServer(Text text) {
    if (text.pattern() != null || text.field().isEmpty() && text.contained().isEmpty()) {
      return false;
    }
    return text.field().isEmpty()
        || texts.values().stream()
            .filter(one -> !one.field().isEmpty() && one.pattern() == null)
            .findFirst()
            .filter(text::equals)
            .isPresent();
  }

  /** The filters applied here that exclude a message. */
  List<String> missedBy(Message message) {
    List<String> missed =
        texts.values().stream()
            .filter(text -> !isOfServer(text) && !text.isIn(message))
            .map(Text::name)
            .distinct()
            .toList();
    return missed.isEmpty() && where != null && !where.test(message) ? List.of("where") : missed;
  }

  /** The filters that are applied here, as a text. */
  String here() {
    StringJoiner here = new StringJoiner(", ");
    for (Text text : texts.values()) {
      if (!isOfServer(text) && (text.pattern() != null || !text.value().isEmpty())) {
        here.add(
            text.shownName()
                + " "
                + (text.pattern() == null
                    ? '"' + text.contained() + '"'
                    : "/" + text.pattern() + "/"));
      }
    }
    if (where != null) {
      here.add("where (a function)");
    }
    return here.toString();
  }

  /** The filters that are set, by their names in the API. */
  Map<String, Object> named(String after) {
    Map<String, Object> named = new LinkedHashMap<>();
    for (Text text : texts.values()) {
      if (text.pattern() != null) {
        named.put(text.shownName(), text.pattern());
      } else if (!text.value().isEmpty()) {
        named.put(text.shownName(), text.contained());
      }
    }
    if (!has.isEmpty()) {
      named.put("has", String.join(",", has));
    }
    if (after != null && !after.isEmpty()) {
      named.put("after", after);
    }
    if (where != null) {
      named.put("where", where);
    }
    return named;
  }

  /** The filters as a text that follows the word "message". */
  @Override
  public String toString() {
    StringJoiner text = new StringJoiner(" and ", " with ", "").setEmptyValue("");
    named(null)
        .forEach(
            (name, value) -> {
              String shown = value instanceof Pattern ? "/" + value + "/" : "\"" + value + "\"";
              text.add(name + " " + (name.equals("where") ? "(a function)" : shown));
            });
    return text.toString();
  }
}
