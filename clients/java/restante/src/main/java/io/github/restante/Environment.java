package io.github.restante;

/** Where settings come from: a variable, or null if it is absent or empty. */
interface Environment {
  /** The variables of this process. */
  Environment OF_PROCESS = System::getenv;

  /** The text of a variable. */
  String read(String name);

  /** The text of a variable, or null if it is absent or empty. */
  default String get(String name) {
    String text = read(name);
    return text == null || text.isEmpty() ? null : text;
  }
}
