package io.github.restante.model;

/**
 * A name and an address in a header field. Written by clients/generate.py.
 *
 * @param name The display name.
 * @param address The address.
 */
public record Mailbox(String name, String address) {}
