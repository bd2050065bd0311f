package io.github.restante.model;

import java.util.List;

/**
 * The explanation of a missing message. Written by clients/generate.py.
 *
 * @param summary One sentence for a person.
 * @param report The sentence, then the newest messages, the rejections and the other inboxes that
 *     it does not name, in lines: what a client prints about a wait that failed.
 * @param cause The cause in the summary, for programs. One of inbox_expired, inbox_deleted, late,
 *     arrived, unexpected, filter_missed, nothing_new, fault, bare_line_end, inbox_full,
 *     other_domain, rejected, typo, other_address, login_failed, tls_failed, wrong_port, no_mail,
 *     sent_elsewhere, nothing_connected.
 * @param inbox The inbox; null if it has ended.
 * @param ended How it ended, if it has.
 * @param messages The messages in it.
 * @param refused What was rejected since the inbox was created, or for a wait that timed out, since
 *     five minutes before it. Mail to this inbox is first.
 * @param similar Similar addresses that received mail.
 * @param smtp The use of SMTP at the whole installation.
 * @param sendApis When each API for sending was last used at the whole installation.
 */
public record Explanation(
    String summary,
    String report,
    String cause,
    InboxFields inbox,
    Ended ended,
    ArrivedMessages messages,
    List<Refused> refused,
    List<Similar> similar,
    SmtpUse smtp,
    SendApisUse sendApis) {}
