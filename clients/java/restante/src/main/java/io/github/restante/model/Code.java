package io.github.restante.model;

/**
 * A labelled code in any form, and how it was recognised. Written by clients/generate.py.
 *
 * @param code As a person would type it: digits without spaces, or letters and digits with their
 *     hyphens.
 * @param rule The rule that recognised it. One of domain_bound, label_before, label_after,
 *     alone_below_label, same_sentence, alone_above_label, six_digits.
 * @param line Its line.
 */
public record Code(String code, String rule, String line) {}
