package io.github.restante.model;

import java.util.List;

/**
 * The server answers. Written by clients/generate.py.
 *
 * @param problems
 * @param html
 */
public record MessageChecks(List<Problem> problems, HtmlSupport html) {}
