package io.github.restante.model;

/**
 * The filters of a wait. Written by clients/generate.py.
 *
 * @param subject The filter for the subject.
 * @param from The filter for the sender.
 * @param to The filter for the To and Cc headers.
 * @param text The filter for the text.
 * @param header The filter for a header field.
 * @param has What the message must have.
 * @param after The cursor.
 * @param client What only the client compares, as it describes it.
 * @param timeout The timeout in milliseconds.
 */
public record EventFilters(
    String subject,
    String from,
    String to,
    String text,
    String header,
    String has,
    String after,
    String client,
    int timeout) {}
