package io.github.restante.model;

/**
 * An SMTP command with its reply. It never contains a password, a body or a key. Written by
 * clients/generate.py.
 *
 * @param command The command; empty for the greeting.
 * @param reply The reply; empty if there was none.
 */
public record Exchange(String command, String reply) {}
