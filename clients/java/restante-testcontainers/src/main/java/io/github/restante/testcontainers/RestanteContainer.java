package io.github.restante.testcontainers;

import io.github.restante.Restante;
import io.github.restante.Settings;
import io.github.restante.Smtp;
import java.security.SecureRandom;
import java.util.stream.Collectors;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** The server in a container, for an application that runs in a container too. */
public final class RestanteContainer extends GenericContainer<RestanteContainer> {
  /** The SMTP port in the network of the containers. */
  public static final int SMTP_PORT = 1025;

  private static final int HTTP_PORT = 8025;
  private static final String KEY = "RESTANTE_API_KEY";
  private static final int RANDOM_CHARACTERS = 32;

  /**
   * A container of an image of Restante, with a random key: the ports of a container are often
   * reachable from other machines.
   *
   * @param image the name of the image
   */
  public RestanteContainer(DockerImageName image) {
    super(image);
    withExposedPorts(HTTP_PORT, SMTP_PORT);
    withApiKey(randomKey());
    withEnv("RESTANTE_OUTBOUND", "off");
    withEnv("RESTANTE_ACCEPT_DOMAINS", "*");
    withEnv("RESTANTE_SMTP_STARTTLS", "off");
    waitingFor(Wait.forHttp("/v1/health").forPort(HTTP_PORT).forStatusCode(200));
  }

  private static String randomKey() {
    return new SecureRandom()
        .ints(RANDOM_CHARACTERS, 0, Character.MAX_RADIX)
        .mapToObj(digit -> Integer.toString(digit, Character.MAX_RADIX))
        .collect(Collectors.joining("", "rst_live_", ""));
  }

  /**
   * Sets the key, for example for {@code withReuse}, which finds only a container with the same
   * settings.
   *
   * @param key {@code rst_live_} followed by 16 to 128 letters and digits
   * @return this
   */
  public RestanteContainer withApiKey(String key) {
    return withEnv(KEY, key);
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
    return Restante.connect(new Settings(url, getEnvMap().get(KEY), null, smtp(), null));
  }
}
