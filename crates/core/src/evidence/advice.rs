//! The causes of failures as titles, and what to do about each and about each rejection. All of it
//! is our own words; code is between backticks. No list has a default, so that a new cause, reason
//! or kind does not compile without its advice.

use super::Cause;
use crate::model::{
    AcceptedDomains, Domain, EmailAddress, Refusal, RefusalReason, RefusedMail, SessionFailure,
};

const INJECTED: &str = "A test has injected this fault. The inbox page lists its faults; `restante fault INBOX --clear` removes them.";

/// What to set if the certificate or the handshake is the problem; docs/applications has more.
const NO_TLS: &str = "Start the server with `--smtp-starttls off`, or turn TLS off in the mailer: Nodemailer \
    `ignoreTLS: true`, Django `EMAIL_USE_TLS = False`, smtplib without `starttls()`, Spring \
    `mail.smtp.starttls.enable=false`, Symfony and Laravel `?auto_tls=false`, PHPMailer `SMTPAutoTLS = false`, Rails \
    `enable_starttls_auto: false`, Go `SSL_CERT_FILE` with the server's `tls-cert.pem`. For another host name, add it \
    with `--tls-names`.";
const SEE_REPLY: &str = "See the reply.";

/// What a server accepts.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    pub mail_domain: &'a Domain,
    /// Further domains.
    pub accepted: &'a AcceptedDomains,
}

/// The flag with which the server accepts mail to this recipient, too; `None` if its domain is no
/// domain name.
#[must_use]
pub fn accepting_flag(recipient: &str, accepted: &AcceptedDomains) -> Option<String> {
    let address = EmailAddress::parse(recipient.trim_matches(['<', '>'])).ok()?;
    let domain = address.domain();
    Some(match accepted.is_empty() {
        true => format!("--accept-domains {domain}"),
        false => {
            let accepted = accepted.to_string().replace(", ", ",");
            format!("--accept-domains {accepted},{domain}")
        }
    })
}

/// The cause as a title.
#[must_use]
pub fn title(cause: Cause) -> &'static str {
    match cause {
        Cause::InboxExpired => "The inbox has expired",
        Cause::InboxDeleted => "The inbox was deleted",
        Cause::Late => "The message was late",
        Cause::Arrived => "A matching message is there",
        Cause::Unexpected => "A message arrived although none was expected",
        Cause::FilterMissed => "No message matched the filters",
        Cause::NothingNew => "No new message",
        Cause::Fault => "A fault was injected",
        Cause::BareLineEnd => "Bare line feeds (LF without CR)",
        Cause::InboxFull => "The inbox is full",
        Cause::OtherDomain => "Another domain",
        Cause::Rejected => "The mail was rejected",
        Cause::Typo => "A similar address got mail",
        Cause::OtherAddress => "Another address got mail",
        Cause::LoginFailed => "The SMTP login failed",
        Cause::TlsFailed => "TLS failed",
        Cause::WrongPort => "The wrong port",
        Cause::NoMail => "A session without mail",
        Cause::SentElsewhere => "Nothing arrived for the address",
        Cause::NothingConnected => "Nothing has connected",
    }
}

/// What to do about a cause whose sentence does not end with it.
#[must_use]
pub fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::InboxExpired => "Create an inbox for each test, or raise `--inbox-lifetime`.",
        Cause::InboxDeleted => "Wait for the message before the test deletes its inbox.",
        Cause::Arrived => "Wait again, or read the message from the list.",
        Cause::Unexpected => {
            "Find out why the application sent it, or name in the filters what must not arrive."
        }
        Cause::FilterMissed => "Change the filter, or what the application sends.",
        Cause::NothingNew => {
            "The wait starts after the message that the last wait returned, or after the newest when the test asked \
             for the address: trigger another message, ask for the address before the application sends, or start \
             the wait from an earlier message."
        }
        Cause::InboxFull => "Delete messages of this inbox, or use a new inbox for each test.",
        Cause::Typo => {
            "Compare the address that the test enters with the one that the application used."
        }
        Cause::OtherAddress => {
            "Check that the application sends to the address that the test enters."
        }
        Cause::SentElsewhere => {
            "The server can be reached. Check that the application sends this message, to which address, and if it \
             logs in, with the API key of which project."
        }
        Cause::NothingConnected => {
            "Set the SMTP host and port of the application. If they are right, see its log: it has not tried to send."
        }
        Cause::Late
        | Cause::Fault
        | Cause::BareLineEnd
        | Cause::OtherDomain
        | Cause::Rejected
        | Cause::LoginFailed
        | Cause::TlsFailed
        | Cause::WrongPort
        | Cause::NoMail => SEE_REPLY,
    }
}

/// What to change so that the mail is accepted.
pub(super) fn of_rejection(refused: &RefusedMail, server: Server<'_>) -> String {
    match &refused.reason {
        RefusalReason::Smtp(refusal) => of_refusal(*refusal, refused.recipient_address(), server),
        RefusalReason::InvalidRequest => {
            "The request is not valid for the API of the provider: see the reply. The provider would reject it too."
                .to_owned()
        }
        RefusalReason::Session(failure) => of_session(*failure).to_owned(),
        RefusalReason::DisconnectedOnRequest
        | RefusalReason::BouncedOnRequest
        | RefusalReason::DroppedOnRequest => INJECTED.to_owned(),
        RefusalReason::Unknown(_) => SEE_REPLY.to_owned(),
    }
}

fn relay(recipient: &str, server: Server<'_>) -> String {
    let Server {
        mail_domain,
        accepted,
    } = server;
    let used = EmailAddress::parse(recipient).ok();
    let used = used.as_ref().map(EmailAddress::domain);
    let flag = accepting_flag(recipient, accepted);
    match used.filter(|used| *used != mail_domain).zip(flag) {
        Some((used, flag)) => format!(
            "Mail to @{mail_domain} is accepted. This mail went to @{used}: change the address in the test, or start \
             the server with `{flag}`."
        ),
        None => format!(
            "Mail to @{mail_domain} and to the domains of `--accept-domains` is accepted. Change the address in the \
             test."
        ),
    }
}

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

fn of_refusal(refusal: Refusal, recipient: &str, server: Server<'_>) -> String {
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
        Refusal::InboxFull => advice(Cause::InboxFull),
        Refusal::RelayNotPermitted => return relay(recipient, server),
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

    #[test]
    fn a_refused_relay_names_both_domains_and_keeps_those_that_are_accepted() {
        let domain = Domain::parse("restante.example.com").unwrap();
        let advice = |reason: &str, recipient: &str, accepted: &str| {
            let refused = RefusedMail {
                peer: String::new(),
                sender: String::new(),
                recipient: recipient.to_owned(),
                inbox: None,
                authenticated: false,
                reason: RefusalReason::from_label(reason.to_owned()),
                reply: String::new(),
                refused_at: Timestamp::from_millis(0),
            };
            let server = Server {
                mail_domain: &domain,
                accepted: &accepted.parse().unwrap(),
            };
            of_rejection(&refused, server)
        };
        let relay = "relay_not_permitted";
        for (recipient, accepted, part) in [
            ("<a@gmail.com>", "", "with `--accept-domains gmail.com`."),
            ("<a@gmail.com>", "", "Mail to @restante.example.com is"),
            (
                "<a@gmail.com>",
                "example.com,*.shop.test",
                "with `--accept-domains example.com,*.shop.test,gmail.com`.",
            ),
            ("<nonsense>", "", "Mail to @restante.example.com and to"),
        ] {
            let advice = advice(relay, recipient, accepted);
            assert!(advice.contains(part), "{advice}");
        }
        assert_eq!(advice("another", "", ""), SEE_REPLY);
        assert_eq!(advice("dropped_on_request", "", ""), INJECTED);
    }
}
