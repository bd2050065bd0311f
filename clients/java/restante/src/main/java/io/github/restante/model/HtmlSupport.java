package io.github.restante.model;

/**
 * How many mail clients support the HTML and CSS of a message.
 *
 * @param supportPercent The average over the features that the message uses.
 */
public record HtmlSupport(int supportPercent) {}
