package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.CookieManager;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import org.junit.jupiter.api.Test;

class LabelTest {
  @Test
  void theDashboardShowsTheLabel() throws Exception {
    String label = "sign up › Grüße 100%";
    try (Server server = Server.start("", List.of());
        Restante client = Restante.connect(server.settings())) {
      Inbox inbox = client.createInbox(label + "🐌".repeat(300));
      HttpClient browser =
          HttpClient.newBuilder()
              .cookieHandler(new CookieManager())
              .followRedirects(Redirect.NORMAL)
              .build();
      String form = "secret=" + server.settings().apiKey() + "&next=/inboxes/" + inbox.id();
      HttpRequest signIn =
          HttpRequest.newBuilder(URI.create(client.url() + "/sign-in"))
              .header("Content-Type", "application/x-www-form-urlencoded")
              .header("Origin", client.url())
              .POST(BodyPublishers.ofString(form))
              .build();
      String page = browser.send(signIn, BodyHandlers.ofString()).body();
      assertTrue(page.contains(label + "🐌"), page);
    }
  }
}
