package io.github.restante.junit5;

import io.github.restante.Restante;

/** The client of this run. Its server stops with this process. */
public final class RestanteRun {
  private RestanteRun() {}

  private static final class Holder {
    static final Restante CLIENT = Restante.connect();
  }

  /**
   * The client of the server of {@code RESTANTE_URL}, or of one that the first call starts.
   *
   * @return the client, which must not be closed
   */
  public static Restante client() {
    return Holder.CLIENT;
  }
}
