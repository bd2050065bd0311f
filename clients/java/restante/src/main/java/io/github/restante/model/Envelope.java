package io.github.restante.model;

/**
 * How a message arrived. Written by clients/generate.py.
 *
 * @param from Empty for the null reverse-path.
 * @param to The recipient.
 * @param helo The name that the client gave in EHLO or HELO.
 * @param client The client's address; null if this service composed the message.
 * @param tls The TLS version; null without TLS. One of TLSv1.2, TLSv1.3.
 * @param authenticated Whether the client authenticated.
 * @param via The way by which it arrived; null for a report of this service. One of smtp, api, ses,
 *     resend, sendgrid, postmark, mailgun, mailpit.
 */
public record Envelope(
    String from,
    String to,
    String helo,
    String client,
    String tls,
    Boolean authenticated,
    String via) {}
