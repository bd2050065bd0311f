package io.github.restante.model;

/**
 * An accepted message. Written by clients/generate.py.
 *
 * @param id Identifies the queued outgoing item.
 * @param status {@code queued}: the message is stored and will be delivered. One of queued.
 */
public record Sent(String id, String status) {}
