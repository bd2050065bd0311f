package io.github.restante;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Gives one answer after another, and notes what it was asked. */
final class ScriptedServer implements AutoCloseable {
  static final String KEY = "rst_live_secret00000000000000000000";
  static final String INBOX =
      "{\"id\": \"k3v9\", \"address\": \"k3v9@restante.example.com\", \"kind\": \"temporary\","
          + " \"created_at\": \"2026-11-20T09:30:00.123Z\", \"expires_at\": null}";
  static final String MESSAGE =
      "{\"id\": \"m1\", \"inbox_id\": \"k3v9\", \"from\": \"shop@example.com\","
          + " \"to\": \"k3v9@restante.example.com\", \"subject\": \"Confirm\", \"text\": \"\","
          + " \"html\": \"\", \"links\": [], \"otp\": \"\","
          + " \"received_at\": \"2026-11-20T09:30:02.456Z\"}";

  /** One answer; {@code length} is the length that it claims to have. */
  record Answer(int status, String body, long length) {
    Answer(int status, String body) {
      this(status, body, body.getBytes(StandardCharsets.UTF_8).length);
    }

    static Answer error(int status) {
      return new Answer(status, "{\"error\": \"words\"}");
    }
  }

  /** No answer: the connection is closed. */
  static final Answer CUT = new Answer(0, "");

  final List<URI> requests = new CopyOnWriteArrayList<>();
  private final Queue<Answer> answers;
  private final HttpServer server;
  private final ExecutorService pool = Executors.newCachedThreadPool();
  private final CountDownLatch closed = new CountDownLatch(1);

  ScriptedServer(Answer... answers) throws IOException {
    this.answers = new ConcurrentLinkedQueue<>(List.of(answers));
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(pool);
    server.createContext("/", this::answer);
    server.start();
  }

  private void answer(HttpExchange exchange) throws IOException {
    requests.add(exchange.getRequestURI());
    Answer answer = answers.poll();
    if (answer == null) {
      answer = Answer.error(500);
    }
    if (answer == CUT) {
      exchange.close();
      return;
    }
    byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(answer.status(), answer.length());
    exchange.getResponseBody().write(body);
    exchange.getResponseBody().flush();
    if (answer.length() > body.length) {
      waitForClose();
    }
    exchange.close();
  }

  private void waitForClose() {
    try {
      closed.await();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  Settings settings() {
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    return new Settings(url, KEY, Duration.ofSeconds(30), new Smtp("127.0.0.1", 1), "example.com");
  }

  Restante client() {
    return Restante.connect(settings());
  }

  /** The last part of the path of each request. */
  List<String> paths() {
    return requests.stream()
        .map(uri -> uri.getPath().substring(uri.getPath().lastIndexOf('/') + 1))
        .toList();
  }

  /** The timeouts of the waits, in milliseconds. */
  List<Long> timeouts() {
    return requests.stream()
        .map(uri -> uri.getQuery() == null ? "" : uri.getQuery())
        .filter(query -> query.contains("timeout="))
        .map(query -> Long.valueOf(query.replaceAll(".*timeout=(\\d+).*", "$1")))
        .toList();
  }

  @Override
  public void close() {
    closed.countDown();
    server.stop(0);
    pool.shutdownNow();
  }
}
