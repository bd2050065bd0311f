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
    return new Filter(search -> search.subject = text);
  }

  /**
   * Messages in whose subject a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter subject(Pattern pattern) {
    return new Filter(search -> search.subjectPattern = pattern);
  }

  /**
   * Messages whose sender's address contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter from(String text) {
    return new Filter(search -> search.from = text);
  }

  /**
   * Messages in whose sender's address a regular expression is found.
   *
   * @param pattern the regular expression
   * @return the filter
   */
  public static Filter from(Pattern pattern) {
    return new Filter(search -> search.fromPattern = pattern);
  }

  /**
   * Messages of which a field To or Cc contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter to(String text) {
    return new Filter(search -> search.to = text);
  }

  /**
   * Messages whose text contains a text, in any case.
   *
   * @param text the text
   * @return the filter
   */
  public static Filter text(String text) {
    return new Filter(search -> search.text = text);
  }

  /**
   * Messages of which a header field contains a text, in any case.
   *
   * @param name the name of the field
   * @param text the text
   * @return the filter
   */
  public static Filter header(String name, String text) {
    return new Filter(search -> search.header = name + ":" + text);
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
