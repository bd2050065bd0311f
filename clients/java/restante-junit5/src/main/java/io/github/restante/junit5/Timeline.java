package io.github.restante.junit5;

import io.github.restante.Inbox;
import io.github.restante.model.Exchange;
import io.github.restante.model.InboxEvent;
import java.util.List;
import java.util.stream.Collectors;

/** What happened to an inbox, in the report of a failed test. */
record Timeline(Inbox inbox, List<InboxEvent> events) {
  /** The maximum number of events in the text of a failure, the last ones. */
  private static final int MAX_EVENTS = 20;

  static Timeline of(Inbox inbox) {
    return new Timeline(inbox, inbox.events());
  }

  /** A line for each of the last events. The file has the commands of SMTP, too. */
  String inShort() {
    List<InboxEvent> shown = events.subList(Math.max(0, events.size() - MAX_EVENTS), events.size());
    String head = "timeline of %s, the last %d events:".formatted(inbox.address(), shown.size());
    return head
        + shown.stream()
            .map(event -> "\n  " + event.at() + " " + event.text())
            .collect(Collectors.joining());
  }

  String text() {
    return events.stream().map(Timeline::text).collect(Collectors.joining());
  }

  private static String text(InboxEvent event) {
    String page = event.failure() == null ? "" : "    " + event.failure() + "\n";
    List<Exchange> commands = event.commands() == null ? List.of() : event.commands();
    return event.at()
        + " "
        + event.text()
        + "\n"
        + page
        + commands.stream().map(Timeline::text).collect(Collectors.joining());
  }

  private static String text(Exchange exchange) {
    String command = exchange.command().isEmpty() ? "(connected)" : exchange.command();
    String reply = exchange.reply().isEmpty() ? "(none)" : exchange.reply();
    return "    " + command + " → " + reply + "\n";
  }
}
