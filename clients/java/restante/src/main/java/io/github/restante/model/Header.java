package io.github.restante.model;

/**
 * A header field. Written by clients/generate.py.
 *
 * @param name Its name.
 * @param value Decoded, unfolded.
 */
public record Header(String name, String value) {}
