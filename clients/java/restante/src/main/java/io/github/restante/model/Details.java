package io.github.restante.model;

import java.time.Instant;
import java.util.List;

/**
 * All details of one message. Written by clients/generate.py.
 *
 * @param id Identifies the message.
 * @param inboxId The inbox that contains it.
 * @param size Bytes as received.
 * @param receivedAt When it was accepted.
 * @param envelope How it arrived.
 * @param headers The header fields, in order.
 * @param from The authors.
 * @param to The recipients in the header.
 * @param cc The recipients of copies.
 * @param replyTo Where replies go.
 * @param messageId The Message-ID, with angle brackets.
 * @param inReplyTo The Message-ID of the message to which it replies.
 * @param date The date in the header.
 * @param otp The one-time code as in the field {@code otp} of the message: labelled digits, or the
 *     first six-digit number.
 * @param code The code that a person would type, in any form: {@code otp} if it is labelled, or
 *     else a labelled code with letters or with 9 or 10 digits. The first of {@code codes}.
 * @param codes The labelled codes, each once. If there are several, the message has several labels
 *     with different codes.
 * @param links The links, with their texts.
 * @param attachments The attachments.
 * @param listUnsubscribe The List-Unsubscribe header.
 */
public record Details(
    String id,
    String inboxId,
    int size,
    Instant receivedAt,
    Envelope envelope,
    List<Header> headers,
    List<Mailbox> from,
    List<Mailbox> to,
    List<Mailbox> cc,
    List<Mailbox> replyTo,
    String messageId,
    String inReplyTo,
    Instant date,
    Otp otp,
    Code code,
    List<Code> codes,
    List<Link> links,
    List<AttachmentInfo> attachments,
    ListUnsubscribe listUnsubscribe) {}
