package io.github.restante;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A program in a Java of its own that starts a server with the client. */
final class OtherProcess {
  private OtherProcess() {}

  /** Starts a server, prints its address, and then is killed, or ends after its standard input. */
  public static void main(String[] arguments) throws IOException {
    Server server = Server.start("", List.of());
    try (Restante client = Restante.connect(server.settings())) {
      System.out.println(client.health().status() + " " + server.log().getParent());
    }
    System.out.flush();
    if (arguments[0].equals("killed")) {
      Runtime.getRuntime().halt(1); // Without the shutdown hooks.
    }
    while (System.in.read() >= 0) {
      // Until the test closes it.
    }
    server.close();
  }

  /** Starts it with a directory for temporary files, and with more on the class path. */
  static Process start(Path temporary, String how, Map<String, String> environment, Path... more)
      throws IOException {
    StringBuilder classPath = new StringBuilder(System.getProperty("java.class.path"));
    for (Path path : more) {
      classPath.append(File.pathSeparator).append(path);
    }
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Djava.io.tmpdir=" + temporary,
            "-classpath",
            classPath.toString(),
            OtherProcess.class.getName(),
            how);
    builder.environment().putAll(environment);
    builder.redirectErrorStream(true);
    return builder.start();
  }
}
