package io.github.restante.model;

import java.time.Instant;

/**
 * The use of SMTP. Written by clients/generate.py.
 *
 * @param connectionsOpen How many connections are open.
 * @param lastConnectionAt When the last client connected.
 * @param lastMessageAt When the last message was accepted.
 */
public record SmtpUse(int connectionsOpen, Instant lastConnectionAt, Instant lastMessageAt) {}
