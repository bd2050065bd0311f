package io.github.restante;

import io.github.restante.model.Explanation;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;

/**
 * The text for a wait that timed out: what was expected, and the server's report.
 *
 * @param story the line with the link to what happened
 */
record Report(
    String address,
    Search search,
    Duration timeout,
    int found,
    int count,
    Explanation explanation,
    String story) {
  String text() {
    String counted = count == 1 ? "no message" : found + " of " + count + " messages";
    String head =
        "%s%s arrived at %s within %s.".formatted(counted, search, address, seconds(timeout));
    String reasons =
        explanation == null ? "The server's explanation could not be read." : explanation.report();
    return head + "\n" + reasons + story;
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
