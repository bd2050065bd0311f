package io.github.restante.testcontainers;

import io.github.restante.Restante;
import io.github.restante.Settings;
import io.github.restante.Smtp;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** The server in a container, for an application that runs in a container too. */
public final class RestanteContainer extends GenericContainer<RestanteContainer> {
  /** The SMTP port in the network of the containers. */
  public static final int SMTP_PORT = 1025;

  private static final int HTTP_PORT = 8025;
  private static final String KEY = "rst_live_testcontainers00000000000";

  /**
   * A container of an image of Restante.
   *
   * @param image the name of the image
   */
  public RestanteContainer(DockerImageName image) {
    super(image);
    withExposedPorts(HTTP_PORT, SMTP_PORT);
    withEnv("RESTANTE_API_KEY", KEY);
    withEnv("RESTANTE_OUTBOUND", "off");
    withEnv("RESTANTE_ACCEPT_DOMAINS", "*");
    withEnv("RESTANTE_SMTP_STARTTLS", "off");
    waitingFor(Wait.forHttp("/v1/health").forPort(HTTP_PORT).forStatusCode(200));
  }

  /**
   * The SMTP server as this machine reaches it.
   *
   * @return its host and port
   */
  public Smtp smtp() {
    return new Smtp(getHost(), getMappedPort(SMTP_PORT));
  }

  /**
   * A client of the server.
   *
   * @return the client
   */
  public Restante connect() {
    String url = "http://" + getHost() + ":" + getMappedPort(HTTP_PORT);
    return Restante.connect(new Settings(url, KEY, null, smtp(), null));
  }
}
