package io.github.restante.model;

import java.time.Instant;

/**
 * An address at which a test receives mail. Written by clients/generate.py.
 *
 * @param id The inbox identifier: the local part of the address, or a generated one if the address
 *     is on another domain than the mail domain.
 * @param address The recipient address.
 * @param kind A temporary inbox expires automatically; a permanent one is managed in the dashboard.
 *     One of temporary, permanent.
 * @param createdAt UTC, with milliseconds.
 * @param expiresAt One hour after creation for a temporary inbox, or after the last PUT of its
 *     address. After that, requests for the inbox and its messages return 404. Null: never.
 */
public record InboxFields(
    String id, String address, String kind, Instant createdAt, Instant expiresAt) {}
