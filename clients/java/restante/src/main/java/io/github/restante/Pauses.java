package io.github.restante;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Pauses between attempts: each is a tenth of the time so far, within limits, with jitter. */
final class Pauses {
  private static final long MIN = Duration.ofMillis(50).toNanos();
  private static final long MAX = Duration.ofSeconds(1).toNanos();
  private final long start = System.nanoTime();
  private final long deadline;
  private final CountDownLatch closed;

  Pauses(Duration limit, CountDownLatch closed) {
    this.deadline = start + limit.toNanos();
    this.closed = closed;
  }

  /** Pauses at least as long as the server requests; false if the deadline has passed. */
  boolean next(Connection.Outcome outcome) {
    long now = System.nanoTime();
    if (now >= deadline) {
      return false;
    }
    long pause = pause(now - start, outcome);
    try {
      // Closing the client ends the pause; the next attempt says so.
      closed.await(Math.min(pause, deadline - now), TimeUnit.NANOSECONDS);
      return true;
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new RestanteException("the thread was interrupted", 0, error);
    }
  }

  /** The pause after a time, in nanoseconds. */
  static long pause(long waited, Connection.Outcome outcome) {
    String after = outcome.headers().getOrDefault("retry-after", "");
    if (outcome.status() == 503 && after.matches("\\d{1,6}")) {
      return Duration.ofSeconds(Long.parseLong(after)).toNanos();
    }
    long growing = Math.min(Math.max(waited / 10, MIN), MAX);
    return (long) (growing * (0.5 + ThreadLocalRandom.current().nextDouble() / 2));
  }
}
