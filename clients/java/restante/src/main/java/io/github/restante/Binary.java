package io.github.restante;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * The server's program: RESTANTE_BIN, an artifact restante-server-PLATFORM, or PATH.
 *
 * @param copy the file into which the program of an artifact was copied, or null
 */
record Binary(String path, Path copy) implements AutoCloseable {
  private static final boolean IS_WINDOWS = File.separatorChar == '\\';
  static final String PROGRAM = IS_WINDOWS ? "restante.exe" : "restante";

  static Binary find() throws IOException {
    String named = Environment.OF_PROCESS.get("RESTANTE_BIN");
    if (named != null) {
      if (Files.isRegularFile(Path.of(named))) {
        return new Binary(named, null);
      }
      String text = "RESTANTE_BIN is set to a file that does not exist: " + named;
      throw new UnreachableException(text, 0, null);
    }
    String resource = "/restante-server/" + platform() + "/" + PROGRAM;
    try (InputStream packaged = Binary.class.getResourceAsStream(resource)) {
      if (packaged == null) {
        return new Binary(onPath(System.getenv("PATH")).toString(), null);
      }
      Path copy = Files.createTempFile("restante-", PROGRAM);
      Files.copy(packaged, copy, StandardCopyOption.REPLACE_EXISTING);
      if (!IS_WINDOWS && !copy.toFile().setExecutable(true)) {
        throw new IOException("cannot make it executable: " + copy);
      }
      return new Binary(copy.toString(), copy);
    }
  }

  /** Removes the copy: the server that was started does not need its file. */
  @Override
  public void close() {
    if (copy != null && !copy.toFile().delete()) {
      copy.toFile().deleteOnExit(); // On Windows, it needs it.
    }
  }

  static Path onPath(String folders) {
    for (String folder : Settings.or(folders, "").split(File.pathSeparator)) {
      try {
        // Windows allows quotes.
        Path path = Path.of(folder.replaceFirst("^\"(.*)\"$", "$1"), PROGRAM);
        if (Files.isExecutable(path) && Files.isRegularFile(path)) {
          return path;
        }
      } catch (InvalidPathException error) {
        // No folder can have this name.
      }
    }
    throw new UnreachableException(
        "there is no Restante server to start: RESTANTE_BIN is not set, the artifact"
            + " io.github.restante:restante-server-"
            + platform()
            + " is not on the class path, and `restante` is not on PATH. Add one of them, or set"
            + " RESTANTE_URL to a running server",
        0,
        null);
  }

  /** The name of this platform in the names of the artifacts. */
  static String platform() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String architecture = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    String system = os.contains("win") ? "win32" : os.contains("linux") ? "linux" : "darwin";
    system = os.contains("mac") ? "darwin" : system;
    return system + "-" + (architecture.matches("aarch64|arm64") ? "arm64" : "x64");
  }
}
