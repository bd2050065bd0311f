//! A rejection over SMTP or over an API for sending, stored so that users can find out why a
//! message did not arrive.

use std::net::{IpAddr, SocketAddr};

use restante_smtp::{Closing, Refusal, SessionFailure};
use serde::{Deserialize, Serialize};

use super::{InboxId, Timestamp};

/// Why mail was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum RefusalReason {
    /// The reason of an SMTP reply, or of the same rejection over HTTP.
    Smtp(Refusal),
    /// A request to an API for sending is not valid.
    InvalidRequest,
    /// A session ended before MAIL.
    Session(SessionFailure),
    /// A fault closed the connection without a reply.
    DisconnectedOnRequest,
    /// A fault accepted the message and bounced it.
    BouncedOnRequest,
    /// A fault accepted the message and dropped it.
    DroppedOnRequest,
    /// A reason that this version does not know: another version of the program stored it.
    Unknown(String),
}

impl RefusalReason {
    /// The reason as one word in snake case, as it is stored.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Smtp(refusal) => refusal.label(),
            Self::InvalidRequest => "invalid_request",
            Self::Session(failure) => failure.label(),
            Self::DisconnectedOnRequest => "disconnected_on_request",
            Self::BouncedOnRequest => "bounced_on_request",
            Self::DroppedOnRequest => "dropped_on_request",
            Self::Unknown(label) => label,
        }
    }

    /// Whether it may concern a session before it has a recipient: TLS, AUTH or MAIL failed.
    #[must_use]
    pub fn ends_session(&self) -> bool {
        match self {
            Self::Session(failure) => {
                !matches!(failure, SessionFailure::NoMail | SessionFailure::NoCommand)
            }
            Self::Smtp(refusal) => {
                fails_login(*refusal)
                    || matches!(
                        refusal,
                        Refusal::StartTlsOff
                            | Refusal::BadSender
                            | Refusal::MessageTooLarge
                            | Refusal::HttpRequest
                    )
            }
            Self::InvalidRequest | Self::Unknown(_) => false,
            Self::DisconnectedOnRequest | Self::BouncedOnRequest | Self::DroppedOnRequest => false,
        }
    }

    /// What happened to the mail: a fault may also accept it, or not reply.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::BouncedOnRequest => "bounced",
            Self::DroppedOnRequest => "dropped",
            Self::DisconnectedOnRequest => "cut off",
            _ => "rejected",
        }
    }

    /// Whether the client was told that the mail is accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::BouncedOnRequest | Self::DroppedOnRequest)
    }

    /// The reason with this label.
    #[must_use]
    pub fn from_label(label: String) -> Self {
        let session = || SessionFailure::from_label(&label).map(Self::Session);
        match Refusal::from_label(&label).map(Self::Smtp).or_else(session) {
            Some(reason) => reason,
            None if label == Self::InvalidRequest.label() => Self::InvalidRequest,
            None if label == Self::DisconnectedOnRequest.label() => Self::DisconnectedOnRequest,
            None if label == Self::BouncedOnRequest.label() => Self::BouncedOnRequest,
            None if label == Self::DroppedOnRequest.label() => Self::DroppedOnRequest,
            None => Self::Unknown(label),
        }
    }
}

/// Whether a client failed to log in.
#[must_use]
pub fn fails_login(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::EncryptionRequired
            | Refusal::UnknownMechanism
            | Refusal::MalformedAuthentication
            | Refusal::AuthenticationTooLong
            | Refusal::AuthenticationCancelled
            | Refusal::AuthenticationFailed
            | Refusal::AuthenticationRequired
            | Refusal::LoginRequired
            | Refusal::TooManyFailedAuthentications
    )
}

impl From<String> for RefusalReason {
    fn from(label: String) -> Self {
        Self::from_label(label)
    }
}

impl From<RefusalReason> for String {
    fn from(reason: RefusalReason) -> Self {
        reason.label().to_owned()
    }
}

/// What is recorded in place of the reply if a fault ends the connection.
#[must_use]
pub fn closed_on_request(closing: Closing) -> &'static str {
    match closing {
        Closing::Close => "the connection was closed on request, without a reply",
        Closing::Reset => "the connection was reset on request, without a reply",
    }
}

/// One reply that rejected something, or a session that ended before MAIL.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RefusedMail {
    /// The client's address and port. Without a port, it stands for all refusals of the client that
    /// have this reason: only the latest is kept.
    pub peer: String,
    /// The reverse-path as the client sent it; empty if it had not sent one.
    pub sender: String,
    /// The recipient as the client sent it; empty if there was none yet.
    pub recipient: String,
    /// The inbox with the recipient's address, or its local part; `None` if no recipient is known.
    pub inbox: Option<InboxId>,
    /// Whether the client had authenticated with a key.
    pub authenticated: bool,
    pub reason: RefusalReason,
    /// The reply to the client; for a session that ended before MAIL, what happened.
    pub reply: String,
    /// The time of the reply.
    pub refused_at: Timestamp,
}

impl RefusedMail {
    /// Whether it replaces earlier refusals of the client.
    #[must_use]
    pub fn is_of_client(&self) -> bool {
        self.peer.parse::<IpAddr>().is_ok()
    }

    #[must_use]
    pub fn client(&self) -> String {
        let peer: Result<SocketAddr, _> = self.peer.parse();
        peer.map_or_else(
            |_| self.peer.clone(),
            |peer| peer.ip().to_canonical().to_string(),
        )
    }

    /// The sender without the brackets of the path.
    #[must_use]
    pub fn sender_address(&self) -> &str {
        self.sender.trim_matches(['<', '>'])
    }

    /// The domain of its recipient, if the mail was rejected because of it.
    #[must_use]
    pub fn foreign_domain(&self) -> Option<&str> {
        let is_relay = self.reason == RefusalReason::Smtp(Refusal::RelayNotPermitted);
        let (_, domain) = self.recipient_address().rsplit_once('@')?;
        Some(domain).filter(|_| is_relay)
    }

    /// The recipient without the brackets of the path.
    #[must_use]
    pub fn recipient_address(&self) -> &str {
        self.recipient.trim_matches(['<', '>'])
    }
}
