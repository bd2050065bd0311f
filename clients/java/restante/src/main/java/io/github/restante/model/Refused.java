package io.github.restante.model;

import java.time.Instant;

/**
 * Mail that was rejected. Written by clients/generate.py.
 *
 * @param at When it was rejected.
 * @param client The client's address.
 * @param sender The reverse path.
 * @param recipient The recipient.
 * @param reply The reply to the client.
 */
public record Refused(Instant at, String client, String sender, String recipient, String reply) {}
