package io.github.restante.model;

import java.time.Instant;

/**
 * Another inbox that received mail. Written by clients/generate.py.
 *
 * @param address Its address.
 * @param messages How many messages it has.
 * @param lastReceivedAt When the last one arrived.
 */
public record Similar(String address, int messages, Instant lastReceivedAt) {}
