package io.github.restante.model;

import java.util.List;

/**
 * How many messages are in the inbox, and the newest. Written by clients/generate.py.
 *
 * @param count How many there are.
 * @param latest The newest.
 */
public record ArrivedMessages(int count, List<Arrived> latest) {}
