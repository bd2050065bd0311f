package io.github.restante;

import io.github.restante.model.Arrived;
import io.github.restante.model.ArrivedMessages;
import io.github.restante.model.Explanation;
import io.github.restante.model.Refused;
import io.github.restante.model.Similar;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The text for a wait that timed out: the server's explanation, with what the client knows.
 *
 * @param story the line with the link to what happened
 */
record Report(
    String address,
    Search search,
    Duration timeout,
    List<Message> found,
    int count,
    boolean isFixed,
    Explanation explanation,
    String story) {
  private static final int MAX_NAMED = 3;

  String text() {
    String counted = count == 1 ? "no message" : found.size() + " of " + count + " messages";
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s%s arrived at %s within %s.".formatted(counted, search, address, seconds(timeout)));
    lines.addAll(reasons());
    return String.join("\n", lines) + story;
  }

  private List<String> reasons() {
    if (explanation == null) {
      return List.of("The server's explanation could not be read.");
    }
    List<String> lines = new ArrayList<>(List.of(explanation.summary()));
    boolean isOlder = false;
    for (Arrived message : explanation.messages().latest()) {
      boolean isCounted = isFound(found, message);
      String missed =
          message.missedBy().isEmpty()
              ? ""
              : " (not: " + String.join(", ", message.missedBy()) + ")";
      isOlder |= !isCounted && message.missedBy().equals(List.of("after"));
      lines.add("  received: " + named(message) + (isCounted ? " (counted)" : missed));
    }
    for (Refused refused : explanation.refused()) {
      String recipient = Settings.or(refused.recipient(), "");
      String sender = Settings.or(refused.sender(), "<>");
      if (says(recipient) && says(refused.reply())) {
        continue;
      }
      lines.add(
          recipient.isEmpty()
              ? "  a session without mail: " + refused.reply()
              : "  rejected: %s from %s: %s".formatted(recipient, sender, refused.reply()));
    }
    for (Similar similar : explanation.similar()) {
      String number = similar.messages() + (similar.messages() == 1 ? " message" : " messages");
      if (!says(similar.address())) {
        lines.add("  similar address: " + similar.address() + " received " + number);
      }
    }
    if (isOlder && !isFixed) {
      lines.add(
          "\"not: after\" means: the last wait returned this message, or a later one."
              + " Filter.fromStart() starts over.");
    }
    return lines;
  }

  /** Whether the summary has this text already, so that it is not shown twice. */
  private boolean says(String text) {
    return explanation.summary().contains(text);
  }

  /** Adds which messages the filters applied here exclude, and which the wait has counted. */
  static Explanation completed(
      Explanation explanation,
      Search search,
      Map<String, List<String>> rejected,
      List<Message> found) {
    List<Arrived> latest =
        explanation.messages().latest().stream().map(each -> missed(each, rejected)).toList();
    ArrivedMessages messages = new ArrivedMessages(explanation.messages().count(), latest);
    String summary = explanation.summary();
    String cause = explanation.cause();
    if (!found.isEmpty()) {
      summary = inAddition(messages, found);
    } else if (!rejected.isEmpty() && areExcluded(latest)) {
      summary = excluded(search, latest);
      cause = "filter_missed";
    }
    return new Explanation(
        summary,
        cause,
        explanation.inbox(),
        explanation.ended(),
        messages,
        explanation.refused(),
        explanation.similar(),
        explanation.smtp(),
        explanation.sendApis());
  }

  /**
   * Whether the filters exclude all messages that are there; a rejected one may have been deleted.
   */
  private static boolean areExcluded(List<Arrived> latest) {
    return !latest.isEmpty() && latest.stream().noneMatch(each -> each.missedBy().isEmpty());
  }

  private static Arrived missed(Arrived one, Map<String, List<String>> rejected) {
    List<String> missed =
        Stream.concat(one.missedBy().stream(), rejected.getOrDefault(one.id(), List.of()).stream())
            .toList();
    return new Arrived(one.id(), one.from(), one.subject(), one.receivedAt(), missed);
  }

  private static String inAddition(ArrivedMessages messages, List<Message> found) {
    if (messages.count() <= found.size()) {
      return "No other message arrived.";
    }
    String filters =
        filters(messages.latest().stream().filter(one -> !isFound(found, one)).toList());
    return filters.isEmpty()
        ? "Other messages arrived."
        : "No other message matches the filters (" + filters + ").";
  }

  /** What was expected and what arrived, as the server says it for its own filters. */
  private static String excluded(Search search, List<Arrived> latest) {
    String expected = search.toString().replaceFirst("^ with ", "");
    String named =
        latest.stream().limit(MAX_NAMED).map(Report::named).collect(Collectors.joining(", "));
    String more = latest.size() > MAX_NAMED ? " and others" : "";
    return "Expected %s; arrived: %s%s. Change the filter, or what the application sends."
        .formatted(expected, named, more);
  }

  private static String filters(List<Arrived> messages) {
    return messages.stream()
        .flatMap(message -> message.missedBy().stream())
        .collect(
            Collectors.collectingAndThen(
                Collectors.toCollection(TreeSet::new), names -> String.join(", ", names)));
  }

  private static String named(Arrived message) {
    return "\"%s\" from %s".formatted(message.subject(), message.from());
  }

  private static boolean isFound(List<Message> found, Arrived message) {
    return found.stream().anyMatch(one -> one.id().equals(message.id()));
  }

  static String seconds(Duration duration) {
    return new BigDecimal(duration.toMillis())
            .movePointLeft(3)
            .setScale(2, RoundingMode.HALF_UP)
            .stripTrailingZeros()
            .toPlainString()
        + " s";
  }
}
