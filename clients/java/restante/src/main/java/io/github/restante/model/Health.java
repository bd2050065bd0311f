package io.github.restante.model;

/**
 * The server answers. Written by clients/generate.py.
 *
 * @param status One of ok.
 */
public record Health(String status) {}
