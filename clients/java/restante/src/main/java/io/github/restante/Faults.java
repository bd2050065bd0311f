package io.github.restante;

import io.github.restante.model.Fault;

/** Makes faults for {@link Inbox#setFaults}. */
public final class Faults {
  private Faults() {}

  /**
   * A fault at RCPT TO for this recipient.
   *
   * @param action defer, reject, disconnect, reset or delay
   * @param times how often
   * @return the fault
   */
  public static Fault atRcpt(String action, int times) {
    return new Fault("rcpt", action, times, null, null, null);
  }

  /**
   * A fault after the message has been received.
   *
   * @param action defer, reject, disconnect, reset, delay, bounce, drop or duplicate
   * @param times how often
   * @return the fault
   */
  public static Fault atData(String action, int times) {
    return new Fault("data", action, times, null, null, null);
  }
}
