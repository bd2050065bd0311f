package io.github.restante.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import java.util.List;

/**
 * A fault as given, with its uses. Written by clients/generate.py.
 *
 * @param at When it applies. One of rcpt, data.
 * @param action What goes wrong. One of defer, reject, disconnect, reset, delay, bounce, drop,
 *     duplicate.
 * @param times How often it applies.
 * @param reply The reply of {@code defer} and {@code reject}.
 * @param seconds How many seconds {@code delay} delays the reply.
 * @param store Whether {@code disconnect} or {@code reset} at {@code data} stores the message
 *     first.
 * @param left How often it still applies.
 * @param used How often it was used.
 * @param uses The times of its uses, oldest first.
 */
public record FaultState(
    String at,
    @JsonProperty("do") String action,
    int times,
    String reply,
    Integer seconds,
    Boolean store,
    int left,
    int used,
    List<Instant> uses) {}
