package io.github.restante;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The filters of one call: the server applies texts and {@code has}; the others are applied here.
 */
final class Search {
  String subject;
  Pattern subjectPattern;
  String from;
  Pattern fromPattern;
  String to;
  String text;

  /** NAME:TEXT. */
  String header;

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

  /** The filters that the server applies. */
  Map<String, String> query(String after) {
    Map<String, String> query = new LinkedHashMap<>();
    put(query, "subject", subject);
    put(query, "from", from);
    put(query, "to", to);
    put(query, "text", text);
    put(query, "header", header);
    put(query, "has", String.join(",", has));
    put(query, "after", after);
    return query;
  }

  private static void put(Map<String, String> query, String name, String value) {
    if (value != null && !value.isEmpty()) {
      query.put(name, value);
    }
  }

  /** The filters applied here that exclude a message. */
  List<String> missedBy(Message message) {
    List<String> missed = new ArrayList<>();
    if (subjectPattern != null && !subjectPattern.matcher(message.subject()).find()) {
      missed.add("subject");
    }
    if (fromPattern != null && !fromPattern.matcher(message.from()).find()) {
      missed.add("from");
    }
    if (missed.isEmpty() && where != null && !where.test(message)) {
      missed.add("where");
    }
    return missed;
  }

  /** The filters that are set, by their names in the API. */
  Map<String, Object> named(String after) {
    Map<String, Object> named = new LinkedHashMap<>(query(after));
    if (subjectPattern != null) {
      named.put("subject", subjectPattern);
    }
    if (fromPattern != null) {
      named.put("from", fromPattern);
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
