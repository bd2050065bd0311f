//! Why a request to an API for sending fails. Each provider turns this into its own error.

use std::fmt::Display;

use restante_mail::compose::ComposeError;

use crate::http::error::Error;
use crate::jobs::Busy;
use crate::model::{Closing, Refusal, RefusalReason, RequestedReply, closed_on_request, cut};

/// Maximum number of characters of an error's text: some contain a part of the request.
const TEXT_CHARACTERS: usize = 500;

/// Why a request fails.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// What the client can do about it.
    pub(super) kind: Kind,
    /// What is wrong, for people; one line.
    pub(super) text: String,
    /// The reason that is recorded, so that it explains why a message is missing.
    pub(super) reason: Option<RefusalReason>,
    /// The recipient that caused it; `None` if it concerns all.
    pub(super) recipient: Option<String>,
}

/// What the client can do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NoCredential,
    /// Use a valid key.
    InvalidKey,
    /// Send a valid request.
    Invalid,
    /// Send to another address.
    NotAllowed,
    /// Do not send this.
    Rejected,
    TooLarge,
    Later,
    /// Use another path or id.
    NotFound,
    /// Repeat the first request, or use another idempotency key; with the status and the name of
    /// Resend, which alone has these.
    Repeated(u16, &'static str),
    /// Nothing: the connection ends without an answer.
    Disconnect(Closing),
}

impl Failure {
    pub(super) fn new(kind: Kind, text: impl Display) -> Self {
        let text = cut(
            text.to_string().replace(char::is_control, " "),
            TEXT_CHARACTERS,
        );
        Self {
            kind,
            text,
            reason: None,
            recipient: None,
        }
    }

    /// The request is not valid.
    pub(super) fn invalid(text: impl Display) -> Self {
        Self {
            reason: Some(RefusalReason::InvalidRequest),
            ..Self::new(Kind::Invalid, text)
        }
    }

    /// What SMTP rejects for this reason.
    pub(super) fn refused(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::RelayNotPermitted => Kind::NotAllowed,
            Refusal::MessageTooLarge => Kind::TooLarge,
            Refusal::AuthenticationFailed => Kind::InvalidKey,
            Refusal::BadSender | Refusal::BadRecipient => Kind::Invalid,
            refusal if refusal.is_permanent() => Kind::Rejected,
            _ => Kind::Later,
        };
        Self {
            reason: Some(RefusalReason::Smtp(refusal)),
            ..Self::new(kind, refusal.line())
        }
    }

    /// The reply that a test has requested.
    pub(super) fn requested(reply: &RequestedReply) -> Self {
        let (kind, refusal) = match reply.is_permanent() {
            true => (Kind::Rejected, Refusal::RejectedOnRequest),
            false => (Kind::Later, Refusal::DeferredOnRequest),
        };
        Self {
            reason: Some(RefusalReason::Smtp(refusal)),
            ..Self::new(kind, reply)
        }
    }

    /// A fault closes or resets the connection, and nothing is stored.
    pub(super) fn disconnected(closing: Closing) -> Self {
        Self {
            reason: Some(RefusalReason::DisconnectedOnRequest),
            ..Self::new(Kind::Disconnect(closing), closed_on_request(closing))
        }
    }

    /// The same failure, of one recipient.
    pub(super) fn of(self, recipient: &str) -> Self {
        Self {
            recipient: Some(recipient.to_owned()),
            ..self
        }
    }

    /// The same failure with more text.
    pub(super) fn because(self, text: impl Display) -> Self {
        let text = format!("{}: {text}", self.text);
        Self {
            text: Self::new(self.kind, text).text,
            ..self
        }
    }
}

impl From<ComposeError> for Failure {
    fn from(error: ComposeError) -> Self {
        Self::invalid(error)
    }
}

impl From<base64::DecodeError> for Failure {
    fn from(error: base64::DecodeError) -> Self {
        Self::invalid(format!("not base64: {error}"))
    }
}

/// The errors of reading a body.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::BodyTooLarge => Self::refused(Refusal::MessageTooLarge),
            Error::Busy => Self::refused(Refusal::StoreFailure).because(Busy),
            Error::SlowBody => Self::refused(Refusal::TimedOut),
            _ => Self::invalid("the body is incomplete"),
        }
    }
}
