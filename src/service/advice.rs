//! The causes of failures as titles, and what to do about each.

use crate::model::Cause;

/// The cause as a title. Has no default, so that a new cause does not compile without its title.
#[must_use]
pub fn title(cause: Cause) -> &'static str {
    match cause {
        Cause::InboxExpired => "The inbox has expired",
        Cause::InboxDeleted => "The inbox was deleted",
        Cause::Late => "The message was late",
        Cause::Arrived => "A matching message is there",
        Cause::FilterMissed => "The filters exclude the messages",
        Cause::NothingNew => "No new message",
        Cause::Fault => "A fault was injected",
        Cause::BareLineEnd => "Line ends without CR",
        Cause::InboxFull => "The inbox is full",
        Cause::OtherDomain => "Another domain",
        Cause::Rejected => "The mail was rejected",
        Cause::Typo => "A similar address got mail",
        Cause::OtherAddress => "Another address got mail",
        Cause::LoginFailed => "The SMTP login failed",
        Cause::TlsFailed => "TLS failed",
        Cause::WrongPort => "The wrong port",
        Cause::NoMail => "A session without mail",
        Cause::SentElsewhere => "Nothing was sent to the address",
        Cause::NothingConnected => "Nothing has connected",
    }
}

/// What to do about the cause, in one or two sentences. A rejection, and a sentence that ends with
/// what to do, has its own.
#[must_use]
pub fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::InboxExpired => "Create an inbox for each test, or raise `--inbox-lifetime`.",
        Cause::InboxDeleted => "Wait for the message before the test deletes its inbox.",
        Cause::Late => "Use a longer timeout: a wait ends as soon as the message arrives.",
        Cause::Arrived => "Wait again, or read the message from the list.",
        Cause::FilterMissed => "Change the filter, or what the application sends.",
        Cause::NothingNew => {
            "The wait asks for messages after its cursor, usually the message that the last wait returned: trigger \
             another message, or start the wait from an earlier one."
        }
        Cause::Fault => {
            "A test has injected this fault. `restante fault INBOX --clear` removes the faults of an inbox."
        }
        Cause::BareLineEnd => {
            "The application ends lines with LF only. SMTP requires CR LF: use a mail library."
        }
        Cause::InboxFull => "Delete messages of this inbox, or use a new inbox for each test.",
        Cause::OtherDomain => {
            "Change the address in the test, or accept the domain with `--accept-domains`."
        }
        Cause::Rejected => "See the reply and its remedy.",
        Cause::Typo => {
            "Compare the address that the test enters with the one that the application used."
        }
        Cause::OtherAddress => {
            "Check that the application sends to the address that the test enters."
        }
        Cause::LoginFailed => {
            "Use an API key of the project as the SMTP password, or send no user name and password."
        }
        Cause::TlsFailed => {
            "Start the server with `--smtp-starttls off`, or turn off TLS or the check of the certificate in the \
             mailer."
        }
        Cause::WrongPort => {
            "Compare the port in the settings of the application with the SMTP port of the server."
        }
        Cause::NoMail => "See the log of the application: it connected, but sent no message.",
        Cause::SentElsewhere => {
            "Other mail arrived, so the server can be reached. Check that the application sends this message, and to \
             which address."
        }
        Cause::NothingConnected => {
            "Set the SMTP host and port of the application. If they are right, see its log: it has not tried to send."
        }
    }
}
