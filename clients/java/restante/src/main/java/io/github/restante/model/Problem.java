package io.github.restante.model;

/**
 * A problem of a message. Written by clients/generate.py.
 *
 * @param check The check that found it. One of placeholder, link, text_part, image, size, headers,
 *     unsubscribe, html_support, accessibility.
 * @param severity x One of error, warning.
 * @param detail What is wrong, as a sentence.
 * @param part y One of header, text, html.
 * @param line z
 * @param source s
 */
public record Problem(
    String check, String severity, String detail, String part, Integer line, String source) {}
