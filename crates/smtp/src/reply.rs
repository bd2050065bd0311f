//! Replies. Only this file has SMTP reply codes (RFC 5321, section 4.2) and enhanced status codes
//! (RFC 3463).

mod requested;

use std::borrow::Cow;
use std::fmt;

pub use requested::RequestedReply;

/// One reply of the server: a code, possibly an enhanced status code, and one or more lines of
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    code: u16,
    status: Option<Status>,
    text: Cow<'static, str>,
    /// The lines after the first.
    more: Vec<Cow<'static, str>>,
    refusal: Option<Refusal>,
    path: Option<RefusedPath>,
}

/// The path that a reply rejects, as the client wrote it. It is untrusted text, but without control
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedPath {
    /// The path of a MAIL command.
    Sender(String),
    /// The path of a RCPT command.
    Recipient(String),
}

/// Before the id of a stored message.
const STORED: &str = "Stored ";
/// Room for the two codes before the text, such as `552 5.3.4 `, in bytes.
const BEFORE_TEXT: usize = 16;

/// The subject and the detail of an enhanced status code; its class is the first digit of the reply
/// code.
type Status = (u16, u16);

/// Defines [`Refusal`] with the label of each reason.
macro_rules! refusals {
    ($($(#[$documentation:meta])+ $name:ident = $label:literal,)+) => {
        /// Why a command, a recipient, a message or a whole session was rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Refusal {
            $($(#[$documentation])+ $name,)+
        }

        impl Refusal {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// A name in snake case, for logs and metrics.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$name => $label,)+
                }
            }
        }
    };
}

refusals! {
    /// A command line over its limit.
    LineTooLong = "line_too_long",
    /// A bare CR or LF, another control character, or broken UTF-8 in a command line.
    MalformedLine = "malformed_line",
    /// A verb that is not in any standard.
    UnknownCommand = "unknown_command",
    /// A verb that this server does not implement.
    NotImplemented = "not_implemented",
    /// Arguments are missing, misspelt or too many.
    BadArguments = "bad_arguments",
    /// A parameter of MAIL or RCPT that has an invalid value or occurs twice.
    BadParameter = "bad_parameter",
    /// A parameter of MAIL or RCPT that this server does not know.
    UnknownParameter = "unknown_parameter",
    /// A command that needs EHLO or HELO first.
    NotGreeted = "not_greeted",
    /// A command that is not allowed within a mail transaction.
    TransactionOpen = "transaction_open",
    /// A command that needs MAIL first.
    NoTransaction = "no_transaction",
    /// DATA before any RCPT.
    NoRecipients = "no_recipients",
    /// DATA after RCPT commands that were all rejected.
    NoValidRecipients = "no_valid_recipients",
    /// STARTTLS on an encrypted connection.
    AlreadyEncrypted = "already_encrypted",
    /// STARTTLS, which is switched off.
    StartTlsOff = "starttls_off",
    /// AUTH after a successful AUTH.
    AlreadyAuthenticated = "already_authenticated",
    /// AUTH on a connection that is not encrypted.
    EncryptionRequired = "encryption_required",
    /// An AUTH mechanism that this server does not offer.
    UnknownMechanism = "unknown_mechanism",
    /// An AUTH response that is not base64, or does not have the form that its mechanism requires.
    MalformedAuthentication = "malformed_authentication",
    /// An AUTH response line over its limit.
    AuthenticationTooLong = "authentication_too_long",
    /// The client cancelled AUTH.
    AuthenticationCancelled = "authentication_cancelled",
    /// Wrong credentials.
    AuthenticationFailed = "authentication_failed",
    /// MAIL in a session whose credentials are no longer valid (RFC 4954, section 6).
    AuthenticationRequired = "authentication_required",
    /// MAIL without a login, which this server requires (RFC 4954, section 6).
    LoginRequired = "login_required",
    /// The credentials cannot be checked now.
    AuthenticationUnavailable = "authentication_unavailable",
    /// A malformed reverse-path.
    BadSender = "bad_sender",
    /// A malformed forward-path, or one that no inbox can have.
    BadRecipient = "bad_recipient",
    /// A non-ASCII address in a transaction without SMTPUTF8.
    NonAsciiAddress = "non_ascii_address",
    /// A recipient that is not on the mail domain or an accepted one.
    RelayNotPermitted = "relay_not_permitted",
    /// A recipient whose address several projects have, from a client without the API key of one.
    AmbiguousRecipient = "ambiguous_recipient",
    /// There are too many recipients.
    TooManyRecipients = "too_many_recipients",
    /// The recipient's inbox is full.
    InboxFull = "inbox_full",
    /// The recipient's mailbox does not accept mail.
    MailboxDisabled = "mailbox_disabled",
    /// The store cannot answer, or cannot store the message, at the moment.
    StoreFailure = "store_failure",
    /// There is too little free disk space.
    DiskShort = "disk_short",
    /// A message over the size limit, declared or transferred.
    MessageTooLarge = "message_too_large",
    /// A data line over its limit.
    DataLineTooLong = "data_line_too_long",
    /// A bare CR or LF in the data.
    BareLineEnd = "bare_line_end",
    /// So many Received fields that the message is probably in a loop.
    MailLoop = "mail_loop",
    /// The server is stopping.
    ShuttingDown = "shutting_down",
    /// The client was idle for too long, or its message took too long.
    TimedOut = "timed_out",
    /// There are too many connections.
    TooManyConnections = "too_many_connections",
    /// Too many unknown or malformed commands in a row.
    TooManyErrors = "too_many_errors",
    /// Too many failed authentications.
    TooManyFailedAuthentications = "too_many_failed_authentications",
    /// An HTTP request in place of a command.
    HttpRequest = "http_request",
    /// A fault defers the recipient or the message.
    DeferredOnRequest = "deferred_on_request",
    /// A fault rejects the recipient or the message.
    RejectedOnRequest = "rejected_on_request",
}

impl Reply {
    /// 220: the greeting. It has no enhanced status code (RFC 2034, section 4).
    pub(super) fn greeting(host_name: &str) -> Self {
        Self::plain(220, format!("{host_name} ESMTP Restante"))
    }

    /// 250 to HELO.
    pub(super) fn hello(host_name: &str) -> Self {
        Self::plain(250, host_name.to_owned())
    }

    /// 250 to EHLO, one extension per line.
    pub(super) fn extensions(host_name: &str, extensions: Vec<Cow<'static, str>>) -> Self {
        let mut reply = Self::hello(host_name);
        reply.more = extensions;
        reply
    }

    /// 250 to other commands.
    pub(super) fn ok() -> Self {
        Self::enhanced(250, (0, 0), "OK")
    }

    /// 250 to MAIL.
    pub(super) fn sender_ok() -> Self {
        Self::enhanced(250, (1, 0), "Sender OK")
    }

    /// 250 to RCPT.
    pub(super) fn recipient_ok() -> Self {
        Self::enhanced(250, (1, 5), "Recipient OK")
    }

    /// 354 to DATA. Intermediate replies have no class in RFC 3463.
    pub(super) fn start_data() -> Self {
        Self::plain(354, "End data with <CR><LF>.<CR><LF>")
    }

    /// 250 to the end of data: the message is stored, with one id per inbox. Without ids, it is
    /// accepted but not stored.
    pub(super) fn stored<I: fmt::Display>(ids: &[I]) -> Self {
        let mut lines = ids.iter().map(|id| Cow::Owned(format!("{STORED}{id}")));
        let reply = Self::enhanced(250, (0, 0), lines.next().unwrap_or("OK".into()));
        Self {
            more: lines.collect(),
            ..reply
        }
    }

    /// 252 to VRFY. It discloses no information (RFC 5321, section 7.3).
    pub(super) fn cannot_verify() -> Self {
        Self::enhanced(252, (0, 0), "Cannot verify; send a message and see")
    }

    /// 214 to HELP.
    pub(super) fn help() -> Self {
        Self::enhanced(
            214,
            (0, 0),
            "EHLO HELO STARTTLS AUTH MAIL RCPT DATA RSET NOOP VRFY HELP QUIT; see RFC 5321",
        )
    }

    /// 221 to QUIT.
    pub(super) fn goodbye() -> Self {
        Self::enhanced(221, (0, 0), "Bye")
    }

    /// 220 to STARTTLS.
    pub(super) fn start_tls() -> Self {
        Self::enhanced(220, (0, 0), "Ready to start TLS")
    }

    /// 334 in AUTH; `challenge` is base64.
    pub(super) fn challenge(challenge: &'static str) -> Self {
        Self::plain(334, challenge)
    }

    /// 235 to a successful AUTH.
    pub(super) fn authenticated() -> Self {
        Self::enhanced(235, (7, 0), "Authenticated")
    }

    /// The reply for a rejection.
    pub(super) fn refused(refusal: Refusal) -> Self {
        let (code, status, text) = refusal.reply();
        Self {
            refusal: Some(refusal),
            ..Self::enhanced(code, status, text)
        }
    }

    /// The reply that rejects a sender; without a path if the command had none.
    pub(super) fn refused_sender(refusal: Refusal, path: Option<&str>) -> Self {
        Self {
            path: path.map(|path| RefusedPath::Sender(path.to_owned())),
            ..Self::refused(refusal)
        }
    }

    /// The reply that rejects a recipient; without a path if the command had none.
    pub(super) fn refused_recipient(refusal: Refusal, path: Option<&str>) -> Self {
        Self {
            path: path.map(|path| RefusedPath::Recipient(path.to_owned())),
            ..Self::refused(refusal)
        }
    }

    /// The reply that a test has requested. With a path, it rejects a recipient.
    pub(super) fn refused_on_request(reply: RequestedReply, path: Option<&str>) -> Self {
        Self {
            path: path.map(|path| RefusedPath::Recipient(path.to_owned())),
            ..reply.into_reply()
        }
    }

    /// The three-digit reply code.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The first line without its CR LF and without the ids of messages, for a record of the
    /// session.
    #[must_use]
    pub fn first_line(&self) -> Cow<'static, str> {
        if self.code == 250 && self.text.starts_with(STORED) {
            return Cow::Borrowed("250 2.0.0 Stored");
        }
        let mut line = String::with_capacity(BEFORE_TEXT + self.text.len());
        // A String takes every text.
        let _ = self.write_line(&mut line, &self.text, self.more.is_empty());
        Cow::Owned(line)
    }

    /// Writes a line without its CR LF.
    fn write_line(&self, target: &mut impl fmt::Write, text: &str, is_last: bool) -> fmt::Result {
        write!(target, "{}{}", self.code, if is_last { ' ' } else { '-' })?;
        if let Some((subject, detail)) = self.status {
            write!(target, "{}.{subject}.{detail} ", self.code / 100)?;
        }
        target.write_str(text)
    }

    /// The reason, if this reply is a rejection.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// The path that this reply rejects.
    #[must_use]
    pub fn path(&self) -> Option<&RefusedPath> {
        self.path.as_ref()
    }

    fn enhanced(code: u16, status: Status, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: Some(status),
            ..Self::plain(code, text)
        }
    }

    fn plain(code: u16, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            status: None,
            text: text.into(),
            more: Vec::new(),
            refusal: None,
            path: None,
        }
    }
}

/// The reply as it is sent: every line ends with CR LF.
impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in std::iter::once(&self.text).chain(&self.more).enumerate() {
            self.write_line(formatter, line, index == self.more.len())?;
            formatter.write_str("\r\n")?;
        }
        Ok(())
    }
}

impl Refusal {
    /// The reason with this label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|refusal| refusal.label() == label)
    }

    /// Whether the failure is permanent, so that the client should not retry (5yz).
    #[must_use]
    pub fn is_permanent(self) -> bool {
        self.reply().0 >= 500
    }

    /// The reply without its CR LF, for mail that did not arrive over SMTP: `452 4.2.2 Inbox full`.
    #[must_use]
    pub fn line(self) -> String {
        Reply::refused(self).to_string().trim_end().to_owned()
    }

    /// Whether the command is unknown or malformed: several of these in a row end the session.
    pub(super) fn is_gibberish(self) -> bool {
        matches!(self.reply().0, 500 | 501 | 502 | 504 | 555)
    }

    /// The reply code, the status, and the text, which users read in the log of their client.
    fn reply(self) -> (u16, Status, &'static str) {
        match self {
            Self::LineTooLong => (500, (5, 2), "Line too long"),
            Self::MalformedLine => (500, (5, 2), "Lines are UTF-8 and end with CR LF"),
            Self::UnknownCommand => (500, (5, 1), "Unknown command"),
            Self::NotImplemented => (502, (5, 1), "Command not implemented"),
            Self::BadArguments => (501, (5, 4), "Syntax error in arguments"),
            Self::BadParameter => (501, (5, 4), "Parameter with a bad value"),
            Self::UnknownParameter => (555, (5, 4), "Unknown parameter"),
            Self::NotGreeted => (503, (5, 1), "EHLO first"),
            Self::TransactionOpen => (503, (5, 1), "Not inside a mail transaction"),
            Self::NoTransaction => (503, (5, 1), "MAIL first"),
            Self::NoRecipients => (503, (5, 1), "RCPT first"),
            Self::NoValidRecipients => (554, (5, 1), "No valid recipients"),
            Self::AlreadyEncrypted => (503, (5, 1), "Already encrypted"),
            Self::StartTlsOff => (502, (5, 1), "STARTTLS is off on this server"),
            Self::AlreadyAuthenticated => (503, (5, 1), "Already authenticated"),
            Self::EncryptionRequired => (538, (7, 11), "Encryption required for authentication"),
            Self::UnknownMechanism => (504, (5, 4), "Unknown authentication mechanism"),
            Self::MalformedAuthentication => (501, (5, 2), "Malformed authentication response"),
            Self::AuthenticationTooLong => (500, (5, 6), "Authentication response too long"),
            Self::AuthenticationCancelled => (501, (7, 0), "Authentication cancelled"),
            Self::AuthenticationFailed => (
                535,
                (7, 8),
                "Authentication failed: the password is not a valid API key",
            ),
            Self::AuthenticationRequired => (
                530,
                (7, 0),
                "Authentication required: the API key is no longer valid",
            ),
            Self::LoginRequired => (
                530,
                (7, 0),
                "Authentication required: log in with an API key as the password",
            ),
            Self::AuthenticationUnavailable => {
                (454, (7, 0), "Authentication not possible at present")
            }
            Self::BadSender => (553, (1, 7), "Malformed sender address"),
            Self::BadRecipient => (553, (1, 3), "Malformed recipient address"),
            Self::NonAsciiAddress => (553, (6, 7), "Non-ASCII address without SMTPUTF8"),
            Self::RelayNotPermitted => (550, (7, 1), "relay not permitted"),
            Self::AmbiguousRecipient => (
                550,
                (7, 1),
                "several projects have this address: log in with the API key of one",
            ),
            Self::TooManyRecipients => (452, (5, 3), "Too many recipients"),
            Self::InboxFull => (452, (2, 2), "Inbox full"),
            Self::MailboxDisabled => (550, (2, 1), "Mailbox disabled"),
            Self::StoreFailure => (451, (3, 0), "Storage failure, try again later"),
            Self::DiskShort => (452, (3, 1), "Insufficient storage, try again later"),
            Self::MessageTooLarge => (552, (3, 4), "Message too large"),
            Self::DataLineTooLong => (552, (6, 0), "Line too long in the message"),
            Self::BareLineEnd => (550, (6, 11), "Bare CR or LF in the message"),
            Self::MailLoop => (554, (4, 6), "Too many Received fields: a mail loop"),
            Self::ShuttingDown => (421, (3, 2), "Service is stopping"),
            Self::TimedOut => (421, (4, 2), "Timed out"),
            Self::TooManyConnections => (421, (7, 0), "Too many connections"),
            Self::TooManyErrors => (421, (7, 0), "Too many errors"),
            Self::TooManyFailedAuthentications => (421, (7, 0), "Too many failed authentications"),
            Self::HttpRequest => (421, (7, 0), "This is SMTP, not HTTP"),
            Self::DeferredOnRequest => (451, (3, 0), "Deferred on request"),
            Self::RejectedOnRequest => (550, (1, 1), "Rejected on request"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_written_as_rfc_5321_and_rfc_2034_say() {
        for (reply, wire) in [
            (
                Reply::greeting("mx.example"),
                "220 mx.example ESMTP Restante\r\n",
            ),
            (Reply::hello("mx.example"), "250 mx.example\r\n"),
            (Reply::ok(), "250 2.0.0 OK\r\n"),
            (Reply::challenge(""), "334 \r\n"),
            (Reply::stored::<&str>(&[]), "250 2.0.0 OK\r\n"),
            (
                Reply::refused(Refusal::BareLineEnd),
                "550 5.6.11 Bare CR or LF in the message\r\n",
            ),
            (
                Reply::refused(Refusal::RelayNotPermitted),
                "550 5.7.1 relay not permitted\r\n",
            ),
        ] {
            assert_eq!(reply.to_string(), wire);
        }
        let extensions =
            Reply::extensions("mx.example", vec!["PIPELINING".into(), "SIZE 1000".into()]);
        assert_eq!(
            extensions.to_string(),
            "250-mx.example\r\n250-PIPELINING\r\n250 SIZE 1000\r\n"
        );
    }

    #[test]
    fn a_reason_survives_a_round_trip_through_its_label() {
        for &refusal in Refusal::ALL {
            assert_eq!(Refusal::from_label(refusal.label()), Some(refusal));
        }
        assert_eq!(Refusal::from_label("from_the_future"), None);
    }

    #[test]
    fn every_message_id_has_a_line() {
        assert_eq!(
            Reply::stored(&["a", "b"]).to_string(),
            "250-2.0.0 Stored a\r\n250 2.0.0 Stored b\r\n"
        );
    }

    #[test]
    fn a_reason_has_a_line_that_says_whether_it_is_permanent() {
        for (refusal, line, is_permanent) in [
            (Refusal::InboxFull, "452 4.2.2 Inbox full", false),
            (Refusal::LineTooLong, "500 5.5.2 Line too long", true),
            (
                Refusal::RelayNotPermitted,
                "550 5.7.1 relay not permitted",
                true,
            ),
        ] {
            assert_eq!(
                (refusal.line().as_str(), refusal.is_permanent()),
                (line, is_permanent)
            );
        }
    }

    #[test]
    fn the_record_of_a_session_has_no_ids() {
        let requested = RequestedReply::parse("451 4.3.0 Stored nothing").unwrap();
        for (reply, line) in [
            (Reply::stored(&["a", "b"]), "250 2.0.0 Stored"),
            (Reply::ok(), "250 2.0.0 OK"),
            (requested.into_reply(), "451 4.3.0 Stored nothing"),
            (
                Reply::extensions("mx.example", vec!["PIPELINING".into()]),
                "250-mx.example",
            ),
        ] {
            assert_eq!(reply.first_line(), line);
        }
    }

    #[test]
    fn a_requested_rejection_contains_the_path_of_its_recipient() {
        let path = |path| {
            Reply::refused_on_request(RequestedReply::rejected(), path)
                .path()
                .cloned()
        };
        assert_eq!(
            path(Some("<a@b.example>")),
            Some(RefusedPath::Recipient("<a@b.example>".to_owned()))
        );
        assert_eq!(path(None), None);
    }

    #[test]
    fn a_rejection_contains_the_path() {
        let reply = Reply::refused_recipient(Refusal::InboxFull, Some("<a@b.example>"));
        assert_eq!(reply.refusal(), Some(Refusal::InboxFull));
        assert_eq!(
            reply.path(),
            Some(&RefusedPath::Recipient("<a@b.example>".to_owned()))
        );
        assert_eq!(reply.code(), 452);
    }
}
