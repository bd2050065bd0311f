package io.github.restante;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Temporary directories that are named after a process, so that a later one can remove those of
 * processes that were killed.
 */
final class Directories {
  private Directories() {}

  /** A new directory of this process. Those of killed processes are removed. */
  static Path create() throws IOException {
    String prefix = prefix();
    Path created = Files.createTempDirectory(prefix + ProcessHandle.current().pid() + "-");
    removeAbandoned(created.getParent(), prefix);
    return created;
  }

  /**
   * The start of the names of this user's directories. Process ids have a meaning only within their
   * namespace: another container may share the directory for temporary files.
   */
  private static String prefix() {
    String user = System.getProperty("user.name").replaceAll("\\W", "_");
    return "restante-java-" + user + "-" + namespace() + "-";
  }

  /** The number of the namespace of process ids, which Linux has. */
  private static String namespace() {
    try {
      Path link = Files.readSymbolicLink(Path.of("/proc/self/ns/pid"));
      return link.toString().replaceAll("\\D", "");
    } catch (IOException | UnsupportedOperationException error) {
      return "0";
    }
  }

  private static void removeAbandoned(Path folder, String prefix) throws IOException {
    Pattern named = Pattern.compile(prefix + "(\\d{1,9})-.*");
    try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, prefix + "*")) {
      for (Path directory : found) {
        Matcher name = named.matcher(directory.getFileName().toString());
        if (name.matches() && !isRunning(Long.parseLong(name.group(1)))) {
          remove(directory);
        }
      }
    }
  }

  private static boolean isRunning(long process) {
    return ProcessHandle.of(process).map(ProcessHandle::isAlive).orElse(false);
  }

  /** Removes a directory; what cannot be removed stays in the system's temporary directory. */
  static void remove(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException | UncheckedIOException error) {
      // Its server is still closing its files, or another process removes it.
    }
  }
}
