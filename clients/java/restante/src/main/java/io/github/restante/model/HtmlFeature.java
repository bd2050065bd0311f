package io.github.restante.model;

import java.util.List;

/**
 * The server answers. Written by clients/generate.py.
 *
 * @param slug
 * @param title
 * @param yes
 * @param partly
 * @param no
 * @param line
 */
public record HtmlFeature(
    String slug, String title, int yes, int partly, List<String> no, int line) {}
