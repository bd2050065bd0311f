package io.github.restante;

/**
 * The SMTP server for the application under test.
 *
 * @param host its host
 * @param port its port
 */
public record Smtp(String host, int port) {}
