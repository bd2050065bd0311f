package io.github.restante;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Which messages an inbox object has returned, so that no wait returns one of them again. */
final class Position {
  private String last;
  private final Set<String> returned = new HashSet<>();

  /** The position of one wait. An explicit start skips no message. */
  record Walk(Position position, boolean isFixed, String start) {
    /** Reserves a message; false if an earlier or concurrent wait has returned it. */
    boolean takes(String id) {
      synchronized (position) {
        return isFixed || position.returned.add(id);
      }
    }

    /** The same without reserving. */
    boolean wouldTake(String id) {
      synchronized (position) {
        return isFixed || !position.returned.contains(id);
      }
    }

    /** Frees the messages that a failed wait has reserved. */
    void failed(List<Message> found) {
      synchronized (position) {
        if (!isFixed) {
          found.forEach(message -> position.returned.remove(message.id()));
        }
      }
    }

    /** Records that the wait has returned these messages. */
    void succeeded(List<Message> found) {
      synchronized (position) {
        if (isFixed && start == null) {
          position.returned.clear();
        }
        for (Message message : found) {
          position.returned.add(message.id());
          position.last = message.id();
        }
      }
    }
  }

  synchronized Walk walk(Search search) {
    return new Walk(this, search.isFixed, search.isFixed ? search.after : last);
  }

  synchronized void startAfter(String id) {
    last = id;
  }
}
