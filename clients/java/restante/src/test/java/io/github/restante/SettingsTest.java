package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A mistake in a setting is an exception that names it, and closing a client ends its waits. */
class SettingsTest {
  private static final String KEY = "rst_live_secret00000000000000000000";

  private static Settings of(Map<String, String> variables) {
    return Settings.ofEnvironment().completed(variables::get);
  }

  @ParameterizedTest
  @CsvSource({
    "RESTANTE_URL, the server",
    "RESTANTE_URL, http://",
    "RESTANTE_URL, http://localhost:99999",
    "RESTANTE_URL, http://[::1",
    "RESTANTE_API_KEY, a secret",
    "RESTANTE_TIMEOUT, soon",
    "RESTANTE_TIMEOUT, NaN",
    "RESTANTE_TIMEOUT, -1",
    "RESTANTE_SMTP, localhost:99999",
    "RESTANTE_SMTP, localhost:smtp",
    "RESTANTE_SMTP, localhost",
  })
  void aMistakeInAVariable(String name, String value) {
    Map<String, String> variables = new HashMap<>(Map.of("RESTANTE_URL", "http://localhost:8025"));
    variables.put("RESTANTE_API_KEY", KEY);
    variables.put(name, value);
    String text = assertThrows(RestanteException.class, () -> of(variables)).getMessage();
    assertTrue(text.contains(name.equals("RESTANTE_URL") ? value : name), text);
    assertFalse(text.contains("secret"), text);
  }

  @Test
  void theSettingsOfTheEnvironment() {
    Settings found = of(Map.of("RESTANTE_URL", "http://[::1]:8025/", "RESTANTE_TIMEOUT", "1.5"));
    assertEquals(
        new Settings(
            "http://[::1]:8025",
            "",
            Duration.ofMillis(1500),
            new Smtp("::1", 1025),
            "restante.example.com",
            "http://[::1]:8025/mailpit"),
        found);
  }

  @ParameterizedTest
  @CsvSource({
    "200, <!doctype html><title>Shop</title>",
    "200, '{\"name\": \"shop\"}'",
    "200, '[1, 2]'",
    "200, null",
    "302, ''",
    "401, <h1>Who are you?</h1>",
    "404, <h1>Not found: shop</h1>",
    "501, <h1>Unsupported method</h1>",
  })
  void anotherServerIsUnreachable(int status, String body) throws IOException {
    HttpServer shop =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    byte[] answer = body.getBytes(StandardCharsets.UTF_8);
    shop.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    shop.start();
    String url = "http://127.0.0.1:" + shop.getAddress().getPort();
    try (Restante client = Restante.connect(new Settings(url, KEY, null, null, null))) {
      String text = assertThrows(UnreachableException.class, client::createInbox).getMessage();
      assertTrue(text.contains(url) && text.contains(status + " ") && text.contains(body), text);
    } finally {
      shop.stop(0);
    }
  }

  @Test
  void closingEndsTheWaitsOfOtherThreads() {
    try (Server server = Server.start("", List.of())) {
      Restante client = Restante.connect(server.settings());
      Inbox inbox = client.createInbox();
      List<CompletableFuture<Message>> waits =
          List.of(
              CompletableFuture.supplyAsync(inbox::waitForMessage),
              CompletableFuture.supplyAsync(inbox::waitForMessage));
      long start = System.nanoTime();
      client.close();
      for (CompletableFuture<Message> wait : waits) {
        Throwable error = assertThrows(CompletionException.class, wait::join).getCause();
        assertEquals("the client was closed", error.getMessage());
      }
      assertTrue(Duration.ofNanos(System.nanoTime() - start).toSeconds() < 10);
      assertThrows(RestanteException.class, client::health);
    }
  }

  @Test
  void theLogOfTheOwnServerIsInTheErrorWhenItHasDied(@TempDir Path folder) throws IOException {
    // Nothing listens there. Another server may get the port of one that has ended.
    Settings settings =
        new Settings("http://127.0.0.1:1", "key", Duration.ofMillis(300), null, "mail.example");
    Path log = Files.writeString(folder.resolve("server.log"), "the disk is full");
    Connection connection = new Connection(settings, log);
    String text =
        assertThrows(
                UnreachableException.class,
                () -> connection.call(Connection.Request.get("/health")))
            .getMessage();
    assertTrue(text.contains("the disk is full") && !text.contains("restante serve"), text);
  }
}
