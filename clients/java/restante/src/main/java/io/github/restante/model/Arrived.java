package io.github.restante.model;

import java.time.Instant;
import java.util.List;

/**
 * A received message, with the filters that exclude it. Written by clients/generate.py.
 *
 * @param id Identifies the message; also the cursor {@code after}.
 * @param from The sender's address.
 * @param subject The subject.
 * @param receivedAt When it was accepted.
 * @param missedBy The filters that exclude it.
 */
public record Arrived(
    String id, String from, String subject, Instant receivedAt, List<String> missedBy) {}
