package io.github.restante.model;

/**
 * A link with its text. Written by clients/generate.py.
 *
 * @param url Its target.
 * @param text The text of the link.
 * @param source Where it was found. One of html, text.
 */
public record Link(String url, String text, String source) {}
