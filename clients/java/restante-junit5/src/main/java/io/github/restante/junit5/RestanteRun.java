package io.github.restante.junit5;

import io.github.restante.Restante;
import io.github.restante.RestanteException;

/** The client of this run. Its server stops with the last process of the run. */
public final class RestanteRun {
  private static Restante client;

  /** Why there is no client. It is the reason for every test, and the server is started once. */
  private static RestanteException failure;

  private RestanteRun() {}

  /**
   * The client of the server of {@code RESTANTE_URL}, or of one that the first call starts.
   *
   * @return the client, which must not be closed
   * @throws RestanteException at every call, if the first one was not able to start a server
   */
  public static synchronized Restante client() {
    if (client == null && failure == null) {
      try {
        client = Restante.connectForRun();
      } catch (RestanteException error) {
        failure = error;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return client;
  }
}
