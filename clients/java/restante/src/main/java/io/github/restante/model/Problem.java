package io.github.restante.model;

/**
 * A problem of a message.
 *
 * @param check The check that found it: placeholder, link, text_part, image, size, headers,
 *     unsubscribe, html_support or accessibility.
 * @param severity error if no good message has it, warning if a good message may have it.
 * @param detail What is wrong, as a sentence.
 * @param part The part of the source: header, text or html; null if something is missing.
 * @param line The number of the line in this part, from 1.
 * @param source The start of that line.
 */
public record Problem(
    String check, String severity, String detail, String part, Integer line, String source) {}
