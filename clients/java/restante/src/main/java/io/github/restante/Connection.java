package io.github.restante;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Requests to the server: the key, time limits, retries, and the exception for each response. */
final class Connection {
  /** How long a response may take, in addition to the time that the server itself waits. */
  private static final Duration GRACE = Duration.ofSeconds(10);

  private static final Duration CONNECT = Duration.ofSeconds(5);

  /** How long a request that is not a wait is repeated. */
  private static final Duration MAX_RETRY = Duration.ofSeconds(10);

  /** Maximum length of a wait that the server allows in one request. */
  private static final long MAX_REQUEST = Duration.ofSeconds(120).toNanos();

  private static final long MIN_PAUSE = Duration.ofMillis(50).toNanos();
  private static final long MAX_PAUSE = Duration.ofSeconds(1).toNanos();

  private static final int MAX_QUOTE = 200;

  /** The number of characters of filters in a header: each may take twelve bytes. */
  private static final int MAX_FILTERS = 160;

  /** The number of characters of a label that the server keeps. */
  private static final int MAX_LABEL = 200;

  /** Statuses that a proxy in front of the server gives with its own text. */
  private static final Set<Integer> OF_PROXIES = Set.of(413, 429, 502, 503, 504);

  /** The error of 429 that does not pass. */
  private static final String FULL = "recipient inbox is full";

  /** What to do about some errors of the server, by their texts. */
  private static final Map<String, String> REMEDIES =
      Map.of(
          "inbox not found",
          "It was never created, has expired or was deleted, or belongs to another key",
          "message not found",
          "It was deleted, its inbox has expired, or it belongs to another key",
          "recipient not found",
          "No inbox has this address now: create it first",
          "domain not accepted",
          "Start the server with --accept-domains and this domain",
          "invalid after",
          "Pass the id of a message that is or was in this inbox",
          "invalid field: at",
          "It is rcpt or data; bounce, drop and duplicate are only at data",
          "invalid field: reply",
          "It is one line such as 451 4.7.1 Come back later:" + " 4xx with defer, 5xx with reject");

  static final ObjectMapper JSON =
      new ObjectMapper()
          .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .setDefaultPropertyInclusion(JsonInclude.Include.NON_NULL)
          .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)
          .registerModule(new SimpleModule().addDeserializer(Instant.class, new Instants()));

  /**
   * One request below /v1. {@code deadline}: that of a wait, by the clock of {@link
   * System#nanoTime}, or null. {@code headers}: texts that the server shows.
   */
  record Request(
      String method,
      String path,
      Map<String, String> query,
      Object body,
      Long deadline,
      Map<String, String> headers) {
    static Request get(String path) {
      return get(path, Map.of());
    }

    static Request get(String path, Map<String, String> query) {
      return new Request("GET", path, query, null, null, Map.of());
    }

    static Request change(String method, String path, Object body) {
      return new Request(method, path, Map.of(), body, null, Map.of());
    }

    Request withDeadline(long deadline) {
      return new Request(method, path, query, body, deadline, headers);
    }

    Request withLabel(String label) {
      return withText("X-Restante-Label", label, MAX_LABEL);
    }

    Request withFilters(String filters) {
      return withText("X-Restante-Filters", filters, MAX_FILTERS);
    }

    Request withWait(String name) {
      return withText("X-Restante-Wait", name, MAX_FILTERS);
    }

    Request expectingNone() {
      return withText("X-Restante-Expects", "none", MAX_FILTERS);
    }

    private Request withText(String name, String text, int most) {
      int characters = Math.min(text.codePointCount(0, text.length()), most);
      Map<String, String> with = new HashMap<>(headers);
      with.put(name, quote(text.substring(0, text.offsetByCodePoints(0, characters))));
      return new Request(method, path, query, body, deadline, with);
    }

    /** How long the server may keep it open. */
    Duration held() {
      long left = deadline == null ? 0 : deadline - System.nanoTime();
      return Duration.ofNanos(Math.max(0, Math.min(left, MAX_REQUEST)));
    }

    /** The path with the query. */
    String target() {
      Map<String, String> complete = new LinkedHashMap<>(query);
      if (deadline != null) {
        // For zero, the server would return 404, as for an inbox that has ended.
        complete.put("timeout", Long.toString(Math.max(1, held().plusNanos(999_999).toMillis())));
      }
      String given =
          complete.entrySet().stream()
              .map(entry -> entry.getKey() + "=" + quote(entry.getValue()))
              .collect(Collectors.joining("&"));
      return "/v1" + path + (given.isEmpty() ? "" : "?" + given);
    }

    /**
     * Everything but sending. An inbox that was created twice is one that nobody uses, and expires.
     */
    boolean mayBeDoneTwice() {
      return !method.equals("POST") || path.equals("/inboxes");
    }

    /**
     * Whether a wait has looked and found no message. The server looks before it counts the waits,
     * so one with 429 has looked, too.
     */
    boolean hasFoundNothing(Outcome outcome, boolean isLast) {
      boolean isEmpty = outcome.status() == 408 && outcome.said() != null;
      return deadline != null && (isEmpty || isLast && outcome.status() == 429);
    }
  }

  /** The result of one attempt: a response, or its absence with the cause and status 0. */
  record Outcome(int status, Map<String, String> headers, byte[] body, Throwable cause) {
    boolean isSuccess() {
      return status >= 200 && status < 300;
    }

    /** The error text of the server, or null if this is not a response of Restante. */
    String said() {
      try {
        JsonNode error = JSON.readTree(body).path("error");
        return error.isTextual() ? error.asText() : null;
      } catch (IOException error) {
        return null;
      }
    }

    String quoted() {
      String text = new String(body, StandardCharsets.UTF_8).strip();
      return text.isEmpty() ? "nothing" : text.substring(0, Math.min(text.length(), MAX_QUOTE));
    }
  }

  private static final class Instants extends StdDeserializer<Instant> {
    private static final long serialVersionUID = 1L;

    Instants() {
      super(Instant.class);
    }

    @Override
    public Instant deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      return Instant.parse(parser.getText());
    }
  }

  private final Settings settings;

  /** The log of a server that was started for this run, or null. */
  private final Path log;

  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(CONNECT)
          .followRedirects(HttpClient.Redirect.NEVER)
          .build();
  private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();
  final CountDownLatch closed = new CountDownLatch(1);

  private final Duration grace;

  Connection(Settings settings, Path log) {
    this(settings, log, GRACE);
  }

  Connection(Settings settings, Path log, Duration grace) {
    this.settings = settings;
    this.log = log;
    this.grace = grace;
  }

  Settings settings() {
    return settings;
  }

  void close() {
    closed.countDown();
    open.forEach(request -> request.cancel(true));
  }

  /** The JSON of a successful response. Another server has other fields, or no JSON. */
  <T> T fetch(Request request, Class<T> type, Predicate<T> isValid) {
    return decode(request, call(request), type, isValid);
  }

  <T> T decode(Request request, Outcome outcome, Class<T> type, Predicate<T> isValid) {
    try {
      T value = JSON.readValue(outcome.body(), type);
      if (value != null && isValid.test(value)) {
        return value;
      }
    } catch (IOException | java.time.DateTimeException error) {
      // The exception below quotes the answer.
    }
    throw foreign(request, outcome);
  }

  /**
   * Sends a request, and repeats it until there is a final response, or the time is up: at the
   * deadline, it is sent for the last time. A wait that has found nothing gets 408, or 429 at its
   * deadline.
   */
  Outcome call(Request request) {
    long start = System.nanoTime();
    long limit = Math.min(settings.timeout().toNanos(), MAX_RETRY.toNanos());
    long deadline = request.deadline() == null ? start + limit : request.deadline();
    for (boolean isRepeated = false; ; isRepeated = true) {
      boolean isLast = System.nanoTime() - deadline >= 0;
      Outcome outcome = attempt(request);
      // After 404, an earlier attempt has deleted it.
      boolean isDeleted =
          isRepeated && request.method().equals("DELETE") && outcome.status() == 404;
      if (outcome.isSuccess() || isDeleted || request.hasFoundNothing(outcome, isLast)) {
        return outcome;
      }
      if (isLast || !mayRepeat(request, outcome)) {
        throw exception(request, outcome);
      }
      long now = System.nanoTime();
      try {
        // Closing the client ends the pause; the next attempt says so.
        closed.await(Math.min(pause(now - start, outcome), deadline - now), TimeUnit.NANOSECONDS);
      } catch (InterruptedException error) {
        throw interrupted(error);
      }
    }
  }

  /**
   * The pause after a time, in nanoseconds: a tenth of it, within limits and with jitter, or as
   * long as the server requests.
   */
  static long pause(long waited, Outcome outcome) {
    String after = outcome.headers().getOrDefault("retry-after", "");
    if (outcome.status() == 503 && after.matches("\\d{1,6}")) {
      return Duration.ofSeconds(Long.parseLong(after)).toNanos();
    }
    long growing = Math.min(Math.max(waited / 10, MIN_PAUSE), MAX_PAUSE);
    return (long) (growing * (0.5 + ThreadLocalRandom.current().nextDouble() / 2));
  }

  private static RestanteException interrupted(InterruptedException error) {
    Thread.currentThread().interrupt();
    return new RestanteException("the thread was interrupted", 0, error);
  }

  /**
   * Whether to repeat a failed request. What may not be done twice is repeated only if the server
   * cannot have carried it out.
   */
  static boolean mayRepeat(Request request, Outcome outcome) {
    return switch (outcome.status()) {
      case 0 -> request.mayBeDoneTwice() || isUnsent(outcome.cause());
      case 429 -> !FULL.equals(outcome.said());
      case 503 -> request.mayBeDoneTwice();
      default -> false;
    };
  }

  private static boolean isUnsent(Throwable cause) {
    return cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException;
  }

  /** Sends a request once. */
  Outcome attempt(Request request) {
    throwIfClosed();
    CompletableFuture<HttpResponse<byte[]>> sent =
        client.sendAsync(encoded(request), BodyHandlers.ofByteArray());
    open.add(sent);
    try {
      throwIfClosed();
      // HttpRequest's own timeout would end with the headers of the response.
      long limit = request.held().plus(grace).toMillis();
      HttpResponse<byte[]> response = sent.get(limit, TimeUnit.MILLISECONDS);
      Map<String, String> headers =
          response.headers().map().entrySet().stream()
              .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().get(0)));
      return new Outcome(response.statusCode(), headers, response.body(), null);
    } catch (ExecutionException error) {
      throwIfClosed();
      return new Outcome(0, Map.of(), new byte[0], error.getCause());
    } catch (TimeoutException error) {
      return new Outcome(0, Map.of(), new byte[0], error);
    } catch (CancellationException error) {
      throw new RestanteException(CLOSED);
    } catch (InterruptedException error) {
      throw interrupted(error);
    } finally {
      sent.cancel(true);
      open.remove(sent);
    }
  }

  private static final String CLOSED = "the client was closed";

  private void throwIfClosed() {
    if (closed.getCount() == 0) {
      throw new RestanteException(CLOSED);
    }
  }

  private HttpRequest encoded(Request request) {
    HttpRequest.Builder made =
        HttpRequest.newBuilder(URI.create(settings.url() + request.target()));
    if (!settings.apiKey().isEmpty()) {
      made.header("Authorization", "Bearer " + settings.apiKey());
    }
    request
        .headers()
        .forEach(
            (name, text) -> {
              if (!text.isEmpty()) {
                made.header(name, text);
              }
            });
    if (request.body() == null) {
      return made.method(request.method(), BodyPublishers.noBody()).build();
    }
    try {
      byte[] body = JSON.writeValueAsBytes(request.body());
      made.header("Content-Type", "application/json");
      return made.method(request.method(), BodyPublishers.ofByteArray(body)).build();
    } catch (JsonProcessingException error) {
      throw new RestanteException("the request is no JSON", 0, error);
    }
  }

  /** Whether the server was started for this run, and its pages end with it. */
  boolean endsWithRun() {
    return log != null;
  }

  /** The line of an exception that links to an inbox in the dashboard. */
  String dashboardLine(String inbox) {
    return "\nDashboard: " + settings.url() + "/inboxes/" + quote(inbox);
  }

  /** A text as a part of a path or a query. */
  static String quote(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** The exception for a failed attempt. */
  RestanteException exception(Request request, Outcome outcome) {
    int status = outcome.status();
    if (status == 0) {
      return unreachable(outcome.cause());
    }
    String said = outcome.said();
    if (said == null && !OF_PROXIES.contains(status)) {
      return foreign(request, outcome);
    }
    String why = said == null ? outcome.quoted() : said;
    String remedy = REMEDIES.containsKey(why) ? ". " + REMEDIES.get(why) : "";
    String text = request.method() + " " + request.target() + ": " + status + " " + why + remedy;
    return switch (status) {
      case 400, 413 -> new InvalidRequestException(text, status, null);
      case 401 ->
          new UnauthorizedException(
              ("%s. %s does not accept the API key: set RESTANTE_API_KEY to a key of this server."
                      + " `restante serve` prints one at its first start")
                  .formatted(text, settings.url()),
              status,
              null);
      case 404 -> new NotFoundException(text, status, null);
      default -> new RestanteException(text, status, null);
    };
  }

  private UnreachableException unreachable(Throwable cause) {
    String why = reason(cause);
    String text =
        log == null
            ? "cannot connect to Restante at %s (%s). Start it with `restante serve` and set"
                + " RESTANTE_URL to the address that it prints, or unset RESTANTE_URL to start a"
                + " server for the run"
            : "the server of this run does not answer at %s (%s). " + Server.lastLines(log);
    return new UnreachableException(
        text.replaceFirst("%s", java.util.regex.Matcher.quoteReplacement(settings.url()))
            .replaceFirst("%s", java.util.regex.Matcher.quoteReplacement(why)),
        0,
        cause);
  }

  /** For a failed connection, Java gives no text, but different causes. */
  private static String reason(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof UnresolvedAddressException) {
        return "unknown host";
      }
    }
    if (error.getMessage() != null) {
      return error.getMessage();
    }
    return error instanceof ConnectException
        ? "connection refused"
        : error.getClass().getSimpleName();
  }

  UnreachableException foreign(Request request, Outcome outcome) {
    String text =
        "another server than Restante answers at "
            + settings.url()
            + (". It answered " + request.method() + " /v1" + request.path())
            + (" with " + outcome.status() + " " + outcome.quoted())
            + "\nIs RESTANTE_URL right?";
    return new UnreachableException(text, outcome.status(), null);
  }
}
