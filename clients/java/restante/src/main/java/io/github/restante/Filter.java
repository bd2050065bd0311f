package io.github.restante;

import java.time.Duration;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** A filter of messages, or another option of a wait. A message must match all filters. */
public final class Filter {
  private final java.util.function.Consumer<Search> change;

  private Filter(java.util.function.Consumer<Search> change) {
    this.change = change;
  }

  void applyTo(Search search) {
    change.accept(search);
  }

  /**
   * Messages whose subject contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter subject(String text) {
    return new Filter(search -> search.contains("subject", "", text));
  }

  /**
   * Messages in whose subject a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter subject(Pattern pattern) {
    return new Filter(search -> search.matches("subject", "", pattern));
  }

  /**
   * Messages whose sender's address contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter from(String text) {
    return new Filter(search -> search.contains("from", "", text));
  }

  /**
   * Messages in whose sender's address a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter from(Pattern pattern) {
    return new Filter(search -> search.matches("from", "", pattern));
  }

  /**
   * Messages of which a field To or Cc contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter to(String text) {
    return new Filter(search -> search.contains("to", "", text));
  }

  /**
   * Messages in whose field To or Cc a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter to(Pattern pattern) {
    return new Filter(search -> search.matches("to", "", pattern));
  }

  /**
   * Messages whose text contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter text(String text) {
    return new Filter(search -> search.contains("text", "", text));
  }

  /**
   * Messages in whose text a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter text(Pattern pattern) {
    return new Filter(search -> search.matches("text", "", pattern));
  }

  /**
   * Messages of which a header field contains a text, in any case.
   *
   * @param name the name of the field
   * @param text the text
   * @return the filter
   */
  public static Filter header(String name, String text) {
    return new Filter(search -> search.contains("header", name, text));
  }

  /**
   * Messages in whose header field a regular expression is found.
   *
   * @param name the name of the field
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter header(String name, Pattern pattern) {
    return new Filter(search -> search.matches("header", name, pattern));
  }

  /**
   * Messages with a labelled code, in any form.
   *
   * @return the filter
   */
  public static Filter hasCode() {
    return new Filter(search -> search.has.add("code"));
  }

  /**
   * Messages whose {@link Message#otp} is not empty; it may be a number without a label.
   *
   * @return the filter
   */
  public static Filter hasOtp() {
    return new Filter(search -> search.has.add("otp"));
  }

  /**
   * Messages with a link.
   *
   * @return the filter
   */
  public static Filter hasLink() {
    return new Filter(search -> search.has.add("link"));
  }

  /**
   * Messages for which a predicate is true.
   *
   * @param predicate the predicate
   * @return the filter
   */
  public static Filter where(Predicate<Message> predicate) {
    return new Filter(search -> search.where = predicate);
  }

  /**
   * Only messages later than this one. Without it, a wait starts after the last message that a wait
   * on the same inbox has returned.
   *
   * @param id the id of a message
   * @return the option
   */
  public static Filter after(String id) {
    return new Filter(
        search -> {
          search.isFixed = true;
          search.after = id;
        });
  }

  /**
   * Starts with the oldest message of the inbox.
   *
   * @return the option
   */
  public static Filter fromStart() {
    return after(null);
  }

  /**
   * How long this wait lasts.
   *
   * @param timeout the duration
   * @return the option, only for waits
   */
  public static Filter timeout(Duration timeout) {
    return new Filter(search -> search.timeout = timeout);
  }
}
