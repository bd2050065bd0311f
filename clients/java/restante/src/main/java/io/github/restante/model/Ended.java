package io.github.restante.model;

import java.time.Instant;

/**
 * How an inbox ended. Written by clients/generate.py.
 *
 * @param reason {@code expired} or {@code deleted}. One of expired, deleted.
 * @param at When it ended.
 */
public record Ended(String reason, Instant at) {}
