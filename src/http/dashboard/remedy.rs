//! What to do about a refusal: one line for each reason.

use restante_mail::EmailAddress;

use crate::model::{Domain, RefusedMail};

/// One line that describes what to change so that the mail is accepted.
pub(super) fn remedy(refused: &RefusedMail, mail_domain: &Domain) -> String {
    if refused.reason == "relay_not_permitted" {
        return relay(refused.recipient_address(), mail_domain);
    }
    general(&refused.reason).to_owned()
}

fn relay(recipient: &str, mail_domain: &Domain) -> String {
    let used = EmailAddress::parse(recipient).ok();
    match used.as_ref().map(EmailAddress::domain) {
        Some(used) if used != mail_domain => {
            format!(
                "Only mail to @{mail_domain} is accepted. This mail went to @{used}: change the address in the test."
            )
        }
        _ => format!("Only mail to @{mail_domain} is accepted. Change the address in the test."),
    }
}

fn general(reason: &str) -> &'static str {
    match reason {
        "bare_line_end" => "The application ends lines with LF only. SMTP requires CR LF: use a mail library.",
        "line_too_long" | "data_line_too_long" => {
            "A line is too long. Encode the body as quoted-printable or base64, as mail libraries do."
        }
        "malformed_line" => "The client sent invalid UTF-8 or a wrong line end. Check that it is an SMTP client.",
        "unknown_command" | "not_implemented" => {
            "The client uses an unsupported command. Turn that extension off in the client."
        }
        "bad_arguments" | "bad_parameter" | "unknown_parameter" => {
            "The command does not conform to SMTP. Use a mail library."
        }
        "not_greeted" | "transaction_open" | "no_transaction" | "no_recipients" | "no_valid_recipients" => {
            "The commands arrived in the wrong order, often after another rejection: see the preceding rejections."
        }
        "already_encrypted" | "already_authenticated" => "The client did this step twice. Remove one of the two.",
        "encryption_required" => "Turn on STARTTLS in the client, or send no user name and password.",
        "unknown_mechanism" => "Use AUTH PLAIN or LOGIN, or send no user name and password.",
        "malformed_authentication" | "authentication_too_long" | "authentication_cancelled" => {
            "The client's authentication is not valid. Use AUTH PLAIN with the API key as the password."
        }
        "authentication_failed" | "authentication_required" => {
            "Use a valid API key of the project as the SMTP password. A rotated key no longer works."
        }
        "bad_sender" => "The sender's address is not valid. Set a complete address such as app@example.com.",
        "bad_recipient" => "The recipient's address is not valid. Print the address that the test uses.",
        "non_ascii_address" => "The address has non-ASCII characters. Use a client with SMTPUTF8, or another address.",
        "too_many_recipients" => "Send to fewer recipients at once, or raise the limit with --max-recipients.",
        "inbox_full" => "Delete messages of this inbox, or use a new inbox for each test.",
        "mailbox_disabled" => "The project of this address was deleted. Use a new inbox.",
        "store_failure" | "authentication_unavailable" => "A database error. The client may retry; see the server log.",
        "disk_short" => "The server's disk is nearly full. Free some space; the client may then retry.",
        "message_too_large" => "Send a smaller message, or raise the limit with --max-message-size.",
        "mail_loop" => "The message went through too many servers. Check the forwarding rules.",
        "shutting_down" => "The server was stopping. The client may retry.",
        "timed_out" => "The client was idle for too long. Close the connection after the last message.",
        "too_many_connections" => "Close connections after use, or raise the limit with --max-smtp-connections.",
        "too_many_errors" | "too_many_failed_authentications" => {
            "The client made many errors in a row: see the preceding rejections."
        }
        "deferred_on_request" | "rejected_on_request" | "disconnected_on_request" | "bounced_on_request" => {
            "A test has injected this fault. The inbox page lists them; `restante fault INBOX --clear` removes them."
        }
        "http_request" => "An HTTP client connected to the SMTP port. Swap the two ports in its settings.",
        _ => "See the reply.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn refused(reason: &str, recipient: &str) -> RefusedMail {
        RefusedMail {
            peer: String::new(),
            sender: String::new(),
            recipient: recipient.to_owned(),
            inbox: None,
            authenticated: false,
            reason: reason.to_owned(),
            reply: String::new(),
            refused_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_refused_relay_names_both_domains() {
        let domain = Domain::parse("restante.test").unwrap();
        let line = remedy(&refused("relay_not_permitted", "<a@elsewhere.example>"), &domain);
        assert!(line.contains("@restante.test") && line.contains("@elsewhere.example"), "{line}");
        assert!(remedy(&refused("relay_not_permitted", "<nonsense>"), &domain).contains("@restante.test"));
        assert_eq!(remedy(&refused("another", ""), &domain), "See the reply.");
        assert!(remedy(&refused("bounced_on_request", ""), &domain).starts_with("A test has injected this fault."));
    }
}
