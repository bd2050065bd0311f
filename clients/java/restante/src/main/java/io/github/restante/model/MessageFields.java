package io.github.restante.model;

import java.time.Instant;
import java.util.List;

/**
 * A received message. Written by clients/generate.py.
 *
 * @param id The message identifier, also the {@code after} cursor.
 * @param inboxId The inbox that contains the message.
 * @param from The first address of the From header; if it has none, the envelope sender, which may
 *     be empty.
 * @param to The recipient address, which is the inbox address.
 * @param subject The decoded subject; empty if there is none.
 * @param text The plain text. Lines end with \n; trailing line breaks are removed. If the message
 *     has only HTML: that HTML as readable text.
 * @param html The HTML; empty if there is none.
 * @param links Absolute URIs without duplicates: first those of the HTML, then those of the text,
 *     each in document order.
 * @param otp A labelled code of 4 to 8 digits; if none, the first 6-digit word; if none, empty.
 * @param receivedAt UTC, with milliseconds.
 */
public record MessageFields(
    String id,
    String inboxId,
    String from,
    String to,
    String subject,
    String text,
    String html,
    List<String> links,
    String otp,
    Instant receivedAt) {}
