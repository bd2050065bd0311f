package io.github.restante.junit5;

import io.github.restante.WaitTimeoutException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.regex.Pattern;

/** The summary of a CI job on GitHub: a section for each wait of a failed test that timed out. */
record JobSummary(Path file) {
  /** Could end the block that a section has for the text. */
  private static final Pattern FENCE = Pattern.compile("`{4,}");

  /** The characters to which Markdown and HTML give a meaning. */
  private static final Pattern MARKUP = Pattern.compile("[\\\\`*_\\[\\]<>#|&]");

  static JobSummary ofEnvironment() {
    String path = System.getenv("GITHUB_STEP_SUMMARY");
    return new JobSummary(path == null || path.isEmpty() ? null : Path.of(path));
  }

  /** Adds a section, if there is a summary. Never fails the test, whose report has the same. */
  void note(String title, WaitTimeoutException timeout) {
    if (file == null) {
      return;
    }
    String cause = timeout.explanation() == null ? "" : timeout.explanation().summary();
    String link =
        timeout.link() == null
            ? ""
            : "[What happened during this wait](<" + timeout.link() + ">)\n\n";
    String text = FENCE.matcher(timeout.getMessage()).replaceAll("```");
    String section =
        "### No mail: %s\n\n%s\n\n%s````text\n%s\n````\n\n"
            .formatted(oneLine(title), oneLine(cause), link, text);
    try {
      Files.writeString(file, section, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException error) {
      // An addition.
    }
  }

  /** A text of a mail or a test on one line, without markup. */
  private static String oneLine(String text) {
    return MARKUP
        .matcher(text.strip().replaceAll("\\s+", " "))
        .replaceAll(found -> "&#" + (int) found.group().charAt(0) + ";");
  }
}
