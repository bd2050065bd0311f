//! What to do about a refusal: one line for each reason.

use restante_mail::EmailAddress;

use crate::model::{Domain, RefusedMail};

/// One line that says what to change so that the mail is accepted.
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
        "bare_line_end" => {
            "The application ends lines with LF alone. SMTP needs CR LF: let a mail library write the mail."
        }
        "line_too_long" | "data_line_too_long" => {
            "A line is too long. Encode the body as quoted-printable or base64, as mail libraries do."
        }
        "malformed_line" => "The client sends bytes that are neither UTF-8 nor a line. Check that it speaks SMTP.",
        "unknown_command" | "not_implemented" => {
            "The client uses a command that this server does not have. Turn that extension off in the client."
        }
        "bad_arguments" | "bad_parameter" | "unknown_parameter" => {
            "The command is not written as SMTP defines it. Let a mail library send the mail."
        }
        "not_greeted" | "transaction_open" | "no_transaction" | "no_recipients" | "no_valid_recipients" => {
            "The commands came in the wrong order, often after another refusal: look at the refusals just before."
        }
        "already_encrypted" | "already_authenticated" => "The client did this step twice. Remove one of them.",
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
        "non_ascii_address" => "The address has letters beyond ASCII. Use a client with SMTPUTF8, or another address.",
        "too_many_recipients" => "Send to fewer recipients at once, or raise the limit of recipients.",
        "inbox_full" => "Delete messages of this inbox, or use a new inbox for each test.",
        "mailbox_disabled" => "The project of this address was deleted. Use a new inbox.",
        "store_failure" | "authentication_unavailable" => {
            "The database had a problem. The client may try again; the server's log says what happened."
        }
        "disk_short" => "The server's disk is nearly full. Free some space; the client may then try again.",
        "message_too_large" => "Send a smaller message, or raise the limit with --max-message-size.",
        "mail_loop" => "The message went through too many servers. Check the forwarding rules.",
        "shutting_down" => "The server was stopping. The client may try again.",
        "timed_out" => "The client was silent for too long. Close the connection after the last message.",
        "too_many_connections" => "Close connections after use, or raise the limit of connections.",
        "too_many_errors" | "too_many_failed_authentications" => {
            "The client made many errors in a row: look at the refusals just before."
        }
        "deferred_on_request" | "rejected_on_request" | "disconnected_on_request" | "bounced_on_request" => {
            "A test has asked for this fault. The page of the inbox lists them; `restante fault --clear` ends them."
        }
        "http_request" => "An HTTP client was pointed at the SMTP port. Swap the two ports in its settings.",
        _ => "The reply says why.",
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
        assert_eq!(remedy(&refused("another", ""), &domain), "The reply says why.");
        assert!(remedy(&refused("bounced_on_request", ""), &domain).starts_with("A test has asked for this fault."));
    }
}
