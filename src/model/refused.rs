//! A rejection over SMTP or over an API for sending, stored so that users can find out why a message did not arrive.

use std::net::{IpAddr, SocketAddr};

use restante_smtp::Refusal;

use super::{InboxId, Timestamp};

/// Why mail was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The reason of an SMTP reply, or of the same rejection over HTTP.
    Smtp(Refusal),
    /// A request to an API for sending is not valid.
    InvalidRequest,
    /// A fault closed the connection without a reply.
    DisconnectedOnRequest,
    /// A fault accepted the message and bounced it.
    BouncedOnRequest,
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
            Self::DisconnectedOnRequest => "disconnected_on_request",
            Self::BouncedOnRequest => "bounced_on_request",
            Self::Unknown(label) => label,
        }
    }

    /// The reason with this label.
    #[must_use]
    pub fn from_label(label: String) -> Self {
        match Refusal::from_label(&label) {
            Some(refusal) => Self::Smtp(refusal),
            None if label == Self::InvalidRequest.label() => Self::InvalidRequest,
            None if label == Self::DisconnectedOnRequest.label() => Self::DisconnectedOnRequest,
            None if label == Self::BouncedOnRequest.label() => Self::BouncedOnRequest,
            None => Self::Unknown(label),
        }
    }
}

/// One reply that rejected something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMail {
    /// The client's address and port. Without a port, it stands for all refusals of the client that have this reason:
    /// only the latest is kept.
    pub peer: String,
    /// The reverse-path as the client sent it; empty if it had not sent one.
    pub sender: String,
    /// The recipient as the client sent it; empty if there was none yet.
    pub recipient: String,
    /// The inbox with the recipient's local part; `None` if no recipient is known.
    pub inbox: Option<InboxId>,
    /// Whether the client had authenticated with a key.
    pub authenticated: bool,
    /// The reason.
    pub reason: RefusalReason,
    /// The reply to the client.
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

    /// The client's address.
    #[must_use]
    pub fn client(&self) -> String {
        let peer: Result<SocketAddr, _> = self.peer.parse();
        peer.map_or_else(|_| self.peer.clone(), |peer| peer.ip().to_canonical().to_string())
    }

    /// The sender without the brackets of the path.
    #[must_use]
    pub fn sender_address(&self) -> &str {
        self.sender.trim_matches(['<', '>'])
    }

    /// The recipient without the brackets of the path.
    #[must_use]
    pub fn recipient_address(&self) -> &str {
        self.recipient.trim_matches(['<', '>'])
    }
}
