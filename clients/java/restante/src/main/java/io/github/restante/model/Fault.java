package io.github.restante.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * What fails, and when: {@code rcpt} is at RCPT TO for this recipient, {@code data} after the
 * message was received. Written by clients/generate.py.
 *
 * @param at The SMTP stage: this recipient's RCPT TO, or after the message has been received. One
 *     of rcpt, data.
 * @param action The kind of fault. One of defer, reject, disconnect, reset, delay, bounce, drop,
 *     duplicate.
 * @param times How often the fault applies.
 * @param reply The reply, one line with an enhanced status code.
 * @param store Whether the message is stored first.
 * @param seconds How long the reply is delayed.
 */
public record Fault(
    String at,
    @JsonProperty("do") String action,
    Integer times,
    String reply,
    Boolean store,
    Integer seconds) {}
