package io.github.restante.model;

import java.time.Instant;
import java.util.List;

/**
 * One event. A field that its kind does not have is missing. Written by clients/generate.py.
 *
 * @param at When it happened.
 * @param kind What happened. One of created, claimed, wait_started, wait_ended, smtp, send_api,
 *     fault_used, stored, refused, sent, expired, deleted.
 * @param text The event in one line.
 * @param filters Of a wait: its filters.
 * @param outcome Of the end of a wait, or of an attempt to send: its result.
 * @param messageId The message: stored, found by a wait, or sent.
 * @param failure Of a wait that timed out: the page that explains it.
 * @param client The client's address.
 * @param tls The TLS version of the session.
 * @param commands Of an SMTP session: its commands and replies.
 */
public record InboxEvent(
    Instant at,
    String kind,
    String text,
    EventFilters filters,
    String outcome,
    String messageId,
    String failure,
    String client,
    String tls,
    List<Exchange> commands) {}
