package io.github.restante;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;

/** One run of one scenario, in the format that clients/README.md describes. */
final class Scenario {
  private final JsonNode scenario;
  private final boolean hasOwnServer;
  private final List<String> listen = new ArrayList<>();
  private final ExecutorService pool = Executors.newCachedThreadPool();
  private final Queue<Restante> clients = new ConcurrentLinkedQueue<>();
  private volatile Server server;

  Scenario(JsonNode scenario, Server shared, Path data) throws IOException {
    this.scenario = scenario;
    this.hasOwnServer = scenario.has("flags");
    this.server = shared;
    if (hasOwnServer) {
      // At a restart, no other server must have taken the ports.
      listen.addAll(List.of("--http-listen", freePort(), "--smtp-listen", freePort()));
      listen.addAll(List.of("--data-dir", data.toString()));
      scenario.path("flags").forEach(flag -> listen.add(flag.asText()));
    }
  }

  void play() throws Exception {
    if (hasOwnServer) {
      server = Server.start("", listen);
    }
    try {
      Names names = new Names(null);
      names.put("", client(null, null, Duration.ofSeconds(30)));
      run(scenario.path("steps"), names);
    } finally {
      pool.shutdown();
      clients.forEach(Restante::close);
      if (hasOwnServer) {
        server.close();
      }
    }
  }

  Restante client(String url, String apiKey, Duration timeout) {
    Settings own = server.settings();
    String address = Settings.or(url, own.url());
    String key = Settings.or(apiKey, own.apiKey());
    Restante client =
        Restante.connect(new Settings(address, key, timeout, own.smtp(), own.mailDomain()));
    clients.add(client);
    return client;
  }

  Server server() {
    return server;
  }

  private Void run(JsonNode steps, Names names) throws Exception {
    for (JsonNode step : steps) {
      run(step, step.path("do").asText(), names);
    }
    return null;
  }

  private void run(JsonNode step, String action, Names names) throws Exception {
    Object result;
    try {
      result = result(step, action, names);
    } catch (RestanteException error) {
      if (!step.has("error")) {
        throw new AssertionError(step.toString(), error);
      }
      noteText(step, error);
      Expectation.checkError(error, names.filled(step.path("error")), step);
      return;
    }
    if (step.has("error")) {
      throw new AssertionError(step + ": no error, but " + result);
    }
    if (step.has("as")) {
      names.put(step.path("as").asText(), result);
    }
    if (step.has("expect")) {
      JsonNode found = Expectation.json(result);
      if (!Expectation.matches(found, names.filled(step.path("expect")))) {
        throw new AssertionError(step + ": found " + found);
      }
    }
  }

  /** Notes an error text for a reader; clients/error-texts collects them. */
  private void noteText(JsonNode step, RestanteException error) throws IOException {
    String file = System.getenv("ERROR_TEXTS");
    if (file == null) {
      return;
    }
    ObjectNode noted = Connection.JSON.createObjectNode();
    noted.put("scenario", scenario.path("name").asText()).set("step", step);
    noted.put("text", error.getClass().getSimpleName() + ": " + error.getMessage());
    Files.writeString(
        Path.of(file), noted + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private Object result(JsonNode step, String action, Names names) throws Exception {
    return switch (action) {
      case "start" -> start(() -> run(step.path("steps"), names));
      case "parallel" -> parallel(step, names);
      case "join" -> join((Future<?>) names.get(step.path("name").asText()));
      case "until_waits_are_open" -> untilWaitsAreOpen((Restante) names.get(""));
      case "restart" -> restart(step.path("kill").asBoolean());
      default -> new Step(this, names.filled(step), names).run(action);
    };
  }

  private Future<?> start(Callable<Void> steps) {
    return pool.submit(steps);
  }

  private static Object join(Future<?> started) throws Exception {
    try {
      return started.get();
    } catch (ExecutionException error) {
      throw new AssertionError("a started step has failed", error.getCause());
    }
  }

  private Object parallel(JsonNode step, Names names) throws Exception {
    List<Future<?>> started = new ArrayList<>();
    for (int index = 0; index < step.path("times").asInt(); index++) {
      Names own = new Names(names);
      own.put("index", Integer.toString(index));
      started.add(start(() -> run(step.path("steps"), own)));
    }
    for (Future<?> each : started) {
      join(each);
    }
    return null;
  }

  /** Until one more wait gets 429. */
  private Object untilWaitsAreOpen(Restante client) throws Exception {
    String wait = "/v1/inboxes/" + client.createInbox().id() + "/messages/wait?timeout=1";
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.settings().url() + wait))
            .header("Authorization", "Bearer " + server.settings().apiKey())
            .build();
    HttpClient http = HttpClient.newHttpClient();
    while (http.send(request, BodyHandlers.discarding()).statusCode() != 429) {
      Thread.onSpinWait();
    }
    return null;
  }

  private Object restart(boolean kill) {
    if (kill) {
      server.process().destroyForcibly();
    }
    server.close();
    server = Server.start(server.settings().apiKey(), listen);
    return null;
  }

  /** An address whose port the system does not give to a program that asks for any port. */
  private static String freePort() throws IOException {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(12_000, 32_000);
      try (ServerSocket taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return "127.0.0.1:" + taken.getLocalPort();
      } catch (java.net.BindException error) {
        // The next one.
      }
    }
  }
}
