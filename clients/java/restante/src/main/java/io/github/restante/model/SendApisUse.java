package io.github.restante.model;

import java.time.Instant;

/**
 * When each API for sending was last used; null if it was not. Written by clients/generate.py.
 *
 * @param ses Amazon SES.
 * @param resend Resend.
 * @param sendgrid SendGrid.
 * @param postmark Postmark.
 * @param mailgun Mailgun.
 */
public record SendApisUse(
    Instant ses, Instant resend, Instant sendgrid, Instant postmark, Instant mailgun) {}
