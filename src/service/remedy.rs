//! What to do about a refusal: one line for each reason.

use restante_mail::EmailAddress;

use crate::model::{Domain, Refusal, RefusalReason, RefusedMail, SessionFailure};

const INJECTED: &str = "A test has injected this fault. The inbox page lists its faults; `restante fault INBOX --clear` removes them.";

/// What to set if the certificate or the handshake is the problem.
const NO_TLS: &str = "Start the server with `--smtp-starttls off`. Or turn TLS off in the mailer, or the check of the \
    certificate: Nodemailer `ignoreTLS: true` or `tls: { rejectUnauthorized: false }`, \
    Symfony and Laravel `?verify_peer=0` or `?auto_tls=false`, PHPMailer `SMTPAutoTLS = false`, Django \
    `EMAIL_USE_TLS = False`, JavaMail and Spring `mail.smtp.starttls.enable=false` or `mail.smtp.ssl.trust=*`, Rails \
    `enable_starttls_auto: false`, smtplib without `starttls()`, Go `SSL_CERT_FILE` with the server's `tls-cert.pem`. \
    For another host name, add it with `--tls-names`.";

/// One line that describes what to change so that the mail is accepted.
#[must_use]
pub fn remedy(refused: &RefusedMail, mail_domain: &Domain) -> String {
    match &refused.reason {
        RefusalReason::Smtp(refusal) => of_refusal(*refusal, refused.recipient_address(), mail_domain),
        RefusalReason::InvalidRequest => {
            "The request is not valid for the API of the provider: see the reply. The provider would reject it too."
                .to_owned()
        }
        RefusalReason::Session(failure) => of_session(*failure).to_owned(),
        RefusalReason::DisconnectedOnRequest | RefusalReason::BouncedOnRequest | RefusalReason::DroppedOnRequest => {
            INJECTED.to_owned()
        }
        RefusalReason::Unknown(_) => "See the reply.".to_owned(),
    }
}

fn relay(recipient: &str, mail_domain: &Domain) -> String {
    let used = EmailAddress::parse(recipient).ok();
    match used.as_ref().map(EmailAddress::domain) {
        Some(used) if used != mail_domain => {
            format!(
                "Mail to @{mail_domain} is accepted. This mail went to @{used}: change the address in the test, or \
                 start the server with `--accept-domains {used}`."
            )
        }
        _ => format!(
            "Mail to @{mail_domain} and to the domains of `--accept-domains` is accepted. Change the address in the \
             test."
        ),
    }
}

/// Has no default, so that a new kind does not compile without its advice.
fn of_session(failure: SessionFailure) -> &'static str {
    match failure {
        SessionFailure::UnknownAuthority
        | SessionFailure::CertificateRejected
        | SessionFailure::LeftInHandshake
        | SessionFailure::LeftAfterHandshake
        | SessionFailure::NoCommonTls
        | SessionFailure::HandshakeFailed => NO_TLS,
        SessionFailure::TlsWithoutStartTls => {
            "Turn implicit TLS off in the mailer: Nodemailer `secure: false`, Django `EMAIL_USE_SSL = False`, Symfony \
             and Laravel `smtp://` instead of `smtps://`, JavaMail and Spring `mail.smtp.ssl.enable=false`, PHPMailer \
             `SMTPSecure = ''`; or use the port of `--smtps-listen`."
        }
        SessionFailure::AuthNotOffered => {
            "A mailer with a user name and a password needs AUTH, which the server offers without TLS only with \
             `--smtp-plaintext-auth`. Set that, or configure neither user name nor password."
        }
        SessionFailure::StartTlsNotOffered => {
            "STARTTLS is off on this server. Do not require it in the mailer: Nodemailer `requireTLS: false`, Django \
             `EMAIL_USE_TLS = False`, JavaMail and Spring `mail.smtp.starttls.required=false`, Rails \
             `enable_starttls: false`, smtplib without `starttls()`, Go without `PlainAuth`; or start the server with \
             `--smtp-starttls on`."
        }
        SessionFailure::NeitherOffered => {
            "A mailer with a user name and a password needs AUTH: set `--smtp-plaintext-auth`, or configure neither. \
             If the mailer requires STARTTLS, turn that off, or start the server with `--smtp-starttls on`."
        }
        SessionFailure::Rejected => "See the rejection.",
        SessionFailure::NoMail | SessionFailure::NoCommand => {
            "Connection checks do this. If the application sends mail, see its log for the reason."
        }
    }
}

/// Has no default, so that a new reason does not compile without its advice.
fn of_refusal(refusal: Refusal, recipient: &str, mail_domain: &Domain) -> String {
    let advice = match refusal {
        Refusal::BareLineEnd => {
            "The application ends lines with LF only. SMTP requires CR LF: use a mail library."
        }
        Refusal::LineTooLong | Refusal::DataLineTooLong => {
            "A line is too long. Encode the body as quoted-printable or base64, as mail libraries do."
        }
        Refusal::MalformedLine => {
            "The client sent invalid UTF-8 or a wrong line end. Check that it is an SMTP client."
        }
        Refusal::UnknownCommand | Refusal::NotImplemented => {
            "The client uses an unsupported command. Turn that extension off in the client."
        }
        Refusal::BadArguments | Refusal::BadParameter | Refusal::UnknownParameter => {
            "The command does not conform to SMTP. Use a mail library."
        }
        Refusal::NotGreeted
        | Refusal::TransactionOpen
        | Refusal::NoTransaction
        | Refusal::NoRecipients
        | Refusal::NoValidRecipients => {
            "The commands arrived in the wrong order, often after another rejection: see the preceding rejections."
        }
        Refusal::AlreadyEncrypted | Refusal::AlreadyAuthenticated => {
            "The client did this step twice. Remove one of the two."
        }
        Refusal::EncryptionRequired => {
            "Start the server with `--smtp-plaintext-auth`, turn on STARTTLS in the client, or send no user name and \
             password."
        }
        Refusal::StartTlsOff => of_session(SessionFailure::StartTlsNotOffered),
        Refusal::UnknownMechanism => {
            "Use AUTH PLAIN, LOGIN, XOAUTH2 or OAUTHBEARER, or send no user name and password."
        }
        Refusal::LoginRequired => {
            "The server runs with `--smtp-auth required`: use an API key of the project as the SMTP password."
        }
        Refusal::MalformedAuthentication
        | Refusal::AuthenticationTooLong
        | Refusal::AuthenticationCancelled => {
            "The client's authentication is not valid. Use AUTH PLAIN with the API key as the password."
        }
        Refusal::AuthenticationFailed | Refusal::AuthenticationRequired => {
            "Use a valid API key of the project as the SMTP password. A rotated key no longer works. Without \
             `--smtp-auth required`, the server accepts mail without a login, too."
        }
        Refusal::BadSender => {
            "The sender's address is not valid. Set a complete address such as app@example.com."
        }
        Refusal::BadRecipient => {
            "The recipient's address is not valid. Print the address that the test uses."
        }
        Refusal::NonAsciiAddress => {
            "The address has non-ASCII characters. Use a client with SMTPUTF8, or another address."
        }
        Refusal::TooManyRecipients => {
            "Send to fewer recipients at once, or raise the limit with `--max-recipients`."
        }
        Refusal::InboxFull => "Delete messages of this inbox, or use a new inbox for each test.",
        Refusal::RelayNotPermitted => return relay(recipient, mail_domain),
        Refusal::AmbiguousRecipient => {
            "Several projects have an inbox with this address. Use the API key of one as the SMTP password."
        }
        Refusal::MailboxDisabled => {
            "The address belongs to another project, or to one that was deleted. Use a new inbox, or the project's key."
        }
        Refusal::StoreFailure | Refusal::AuthenticationUnavailable => {
            "A database error. The client may retry; see the server log."
        }
        Refusal::DiskShort => {
            "The server's disk is nearly full. Free some space; the client may then retry."
        }
        Refusal::MessageTooLarge => {
            "Send a smaller message, or raise the limit with `--max-message-size`."
        }
        Refusal::MailLoop => {
            "The message went through too many servers. Check the forwarding rules."
        }
        Refusal::ShuttingDown => "The server was stopping. The client may retry.",
        Refusal::TimedOut => {
            "The client was idle for too long. Close the connection after the last message."
        }
        Refusal::TooManyConnections => {
            "Close connections after use, or raise the limit with `--max-smtp-connections`."
        }
        Refusal::TooManyErrors | Refusal::TooManyFailedAuthentications => {
            "The client made many errors in a row: see the preceding rejections."
        }
        Refusal::DeferredOnRequest | Refusal::RejectedOnRequest => INJECTED,
        Refusal::HttpRequest => {
            "An HTTP client connected to the SMTP port. Swap the two ports in its settings."
        }
    };
    advice.to_owned()
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
            reason: RefusalReason::from_label(reason.to_owned()),
            reply: String::new(),
            refused_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_refused_relay_names_both_domains() {
        let domain = Domain::parse("restante.example.com").unwrap();
        let line = remedy(
            &refused("relay_not_permitted", "<a@elsewhere.example>"),
            &domain,
        );
        assert!(
            line.contains("@restante.example.com")
                && line.contains("--accept-domains elsewhere.example"),
            "{line}"
        );
        assert!(
            remedy(&refused("relay_not_permitted", "<nonsense>"), &domain)
                .contains("@restante.example.com")
        );
        assert_eq!(remedy(&refused("another", ""), &domain), "See the reply.");
        assert!(
            remedy(&refused("bounced_on_request", ""), &domain)
                .starts_with("A test has injected this fault.")
        );
    }
}
