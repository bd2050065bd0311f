package io.github.restante.model;

import java.util.List;

/**
 * The server answers. Written by clients/generate.py.
 *
 * @param supportPercent
 * @param features
 */
public record HtmlSupport(int supportPercent, List<HtmlFeature> features) {}
