package io.github.restante.model;

import java.util.List;

/**
 * The results of the checks of a message.
 *
 * @param problems The problems, the errors first.
 * @param html How many mail clients support the HTML; null without HTML.
 */
public record Checks(List<Problem> problems, HtmlSupport html) {}
