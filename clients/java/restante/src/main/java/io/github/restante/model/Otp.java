package io.github.restante.model;

/**
 * A one-time code, and how it was recognised. Written by clients/generate.py.
 *
 * @param code The digits.
 * @param rule The rule that recognised it. One of domain_bound, label_before, label_after,
 *     alone_below_label, same_sentence, alone_above_label, six_digits.
 * @param line Its line.
 */
public record Otp(String code, String rule, String line) {}
