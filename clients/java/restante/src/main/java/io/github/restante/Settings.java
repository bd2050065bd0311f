package io.github.restante;

import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings of a client. What is null is taken from the environment.
 *
 * @param url the server ({@code RESTANTE_URL}); without one, the client starts its own
 * @param apiKey the key ({@code RESTANTE_API_KEY})
 * @param timeout how long a wait lasts ({@code RESTANTE_TIMEOUT}, in seconds); 30 seconds
 * @param smtp the SMTP server of the URL ({@code RESTANTE_SMTP}); port 1025 of its host
 * @param mailDomain the domain of its inboxes ({@code RESTANTE_MAIL_DOMAIN})
 * @param mailpitUrl the base URL for a test helper of Mailpit ({@code RESTANTE_MAILPIT_URL});
 *     {@code /mailpit} below the URL
 */
public record Settings(
    String url, String apiKey, Duration timeout, Smtp smtp, String mailDomain, String mailpitUrl) {
  private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);
  private static final int DEFAULT_SMTP_PORT = 1025;
  private static final int MAX_PORT = 65535;
  private static final Pattern ADDRESS =
      Pattern.compile("(?:\\[([^\\]]+)\\]|([^:\\[\\]]+)):(\\d{1,5})");

  /**
   * Settings without a URL for Mailpit's helpers.
   *
   * @param url the server
   * @param apiKey the key
   * @param timeout how long a wait lasts
   * @param smtp the SMTP server of the URL
   * @param mailDomain the domain of its inboxes
   */
  public Settings(String url, String apiKey, Duration timeout, Smtp smtp, String mailDomain) {
    this(url, apiKey, timeout, smtp, mailDomain, null);
  }

  /**
   * The settings of the environment.
   *
   * @return settings in which everything is null
   */
  public static Settings ofEnvironment() {
    return new Settings(null, null, null, null, null);
  }

  /**
   * The same settings with another timeout.
   *
   * @param timeout how long a wait lasts
   * @return the settings
   */
  public Settings withTimeout(Duration timeout) {
    return new Settings(url, apiKey, timeout, smtp, mailDomain, mailpitUrl);
  }

  /** The settings with those of the environment, checked. */
  Settings completed(Environment environment) {
    String server = or(url, environment.get("RESTANTE_URL"));
    String key = or(apiKey, environment.get("RESTANTE_API_KEY"), "");
    if (!key.chars().allMatch(letter -> letter >= '!' && letter <= '~')) {
      throw new RestanteException(
          "RESTANTE_API_KEY contains a space or another character that no key has");
    }
    Duration limit = timeout == null ? timeoutOf(environment.get("RESTANTE_TIMEOUT")) : timeout;
    checked(limit);
    if (server == null) {
      return new Settings(null, key, limit, smtp, mailDomain, mailpitUrl);
    }
    URI address = addressOf(server);
    Smtp mail = smtp == null ? smtpOf(environment.get("RESTANTE_SMTP"), address) : smtp;
    String domain = or(mailDomain, environment.get("RESTANTE_MAIL_DOMAIN"), "restante.example.com");
    server = server.replaceAll("/+$", "");
    String mailpit = or(mailpitUrl, environment.get("RESTANTE_MAILPIT_URL"), server + "/mailpit");
    return new Settings(server, key, limit, mail, domain, mailpit);
  }

  static Duration checked(Duration timeout) {
    if (timeout.isNegative()) {
      throw new RestanteException("the timeout must not be negative: " + timeout);
    }
    return timeout;
  }

  private static Duration timeoutOf(String text) {
    if (text == null) {
      return DEFAULT_TIMEOUT;
    }
    try {
      double seconds = Double.parseDouble(text);
      if (seconds >= 0 && seconds <= Integer.MAX_VALUE) {
        return Duration.ofNanos((long) (seconds * 1e9));
      }
    } catch (NumberFormatException error) {
      // The same as a number that is none of seconds.
    }
    throw new RestanteException("RESTANTE_TIMEOUT must be a number of seconds, not " + text);
  }

  private static URI addressOf(String text) {
    try {
      URI uri = new URI(text);
      boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      boolean hasPlace = uri.getHost() != null && uri.getPort() != 0 && uri.getPort() <= MAX_PORT;
      if (isHttp && hasPlace && uri.getUserInfo() == null) {
        return uri;
      }
    } catch (URISyntaxException error) {
      // The exception below says it.
    }
    throw new UnreachableException(
        "the address of the server (RESTANTE_URL) must be http:// or https:// with a host, a port up"
            + " to 65535 and no user, not: "
            + text.replaceAll("//[^/]*@", "//"),
        0,
        null);
  }

  private static Smtp smtpOf(String text, URI server) {
    if (text == null) {
      return new Smtp(server.getHost().replaceAll("^\\[|\\]$", ""), DEFAULT_SMTP_PORT);
    }
    Matcher parts = ADDRESS.matcher(text);
    if (parts.matches()) {
      int port = Integer.parseInt(parts.group(3));
      if (port > 0 && port <= MAX_PORT) {
        return new Smtp(or(parts.group(1), parts.group(2)), port);
      }
    }
    throw new RestanteException("RESTANTE_SMTP must be HOST:PORT, not " + text);
  }

  /** The first value that is neither null nor empty; otherwise the last one. */
  static String or(String... values) {
    for (String value : values) {
      if (value != null && !value.isEmpty()) {
        return value;
      }
    }
    return values[values.length - 1];
  }
}
