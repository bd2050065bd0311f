package io.github.restante.model;

import java.util.List;

/**
 * The List-Unsubscribe header. Written by clients/generate.py.
 *
 * @param urls Its URLs.
 * @param oneClick Whether one POST request unsubscribes.
 */
public record ListUnsubscribe(List<String> urls, boolean oneClick) {}
