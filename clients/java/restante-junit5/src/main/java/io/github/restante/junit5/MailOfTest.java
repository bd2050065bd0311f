package io.github.restante.junit5;

/** The mail of a failed test, as a part of its failure: every runner shows it. */
final class MailOfTest extends Exception {
  private static final long serialVersionUID = 1L;

  MailOfTest(String text) {
    super(text, null, false, false);
  }

  @Override
  public String toString() {
    return getMessage();
  }
}
