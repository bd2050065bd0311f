package io.github.restante;

import io.github.restante.model.Explanation;
import java.time.Duration;
import java.util.Map;

/** No matching message arrived in time. The text contains the server's explanation. */
public class WaitTimeoutException extends RestanteException {
  private static final long serialVersionUID = 1L;
  private final transient Map<String, Object> filters;
  private final Duration waited;
  private final transient Explanation explanation;
  private final String link;

  WaitTimeoutException(
      String text,
      Map<String, Object> filters,
      Duration waited,
      Explanation explanation,
      String link) {
    super(text);
    this.filters = filters;
    this.waited = waited;
    this.explanation = explanation;
    this.link = link;
  }

  /**
   * The filters of the wait, by their names in the API.
   *
   * @return the filters
   */
  public Map<String, Object> filters() {
    return filters;
  }

  /**
   * How long the wait lasted.
   *
   * @return the duration
   */
  public Duration waited() {
    return waited;
  }

  /**
   * The server's explanation.
   *
   * @return the explanation, or null if it could not be read
   */
  public Explanation explanation() {
    return explanation;
  }

  /**
   * The page about this wait.
   *
   * @return the address, or null if the server has none
   */
  public String link() {
    return link;
  }
}
