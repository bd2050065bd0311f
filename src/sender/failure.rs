//! Why a message was not delivered, as a status of RFC 3463, and whether another attempt may help.

use super::peer::Peer;
use super::reply::Reply;
use super::status::Status;
use crate::store::StoreError;

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The enhanced status code.
    pub(super) status: Status,
    /// The reason as text, on one line.
    pub(super) text: String,
    pub(super) server: Option<String>,
    /// The server's reply, on one line, if the server rejected something.
    pub(super) reply: Option<String>,
}

impl Failure {
    /// A failure that another attempt would not change.
    pub(super) fn permanent(subject: u16, detail: u16, text: impl Into<String>) -> Self {
        Self::new(Status(Status::PERMANENT, subject, detail), text.into())
    }

    /// A failure after which another attempt may succeed.
    pub(super) fn transient(subject: u16, detail: u16, text: impl Into<String>) -> Self {
        Self::new(Status(Status::TRANSIENT, subject, detail), text.into())
    }

    /// `peer` rejected `command` with `reply`. Only 5yz is permanent (RFC 5321, section 4.2.1).
    pub(super) fn refused(peer: &Peer, command: &str, reply: &Reply) -> Self {
        let class = if reply.is_permanent() {
            Status::PERMANENT
        } else {
            Status::TRANSIENT
        };
        let status = reply
            .status()
            .filter(|status| status.0 == class)
            .unwrap_or(Status(class, 0, 0));
        let text = format!("{peer} answered {command} with {reply}");
        Self {
            status,
            text,
            server: Some(peer.name.clone()),
            reply: Some(reply.to_string()),
        }
    }

    /// The message cannot be read from the store.
    pub(super) fn unreadable(error: &StoreError) -> Self {
        tracing::warn!(%error, "cannot read a message that is being sent");
        Self::transient(3, 0, "the message cannot be read at the moment")
    }

    /// The same failure, with the name of the server.
    pub(super) fn at(self, peer: &Peer) -> Self {
        Self {
            text: format!("{peer}: {}", self.text),
            server: Some(peer.name.clone()),
            ..self
        }
    }

    /// The same failure as a transient one.
    pub(super) fn made_transient(mut self) -> Self {
        self.status.0 = Status::TRANSIENT;
        self
    }

    /// Whether no more attempts are made.
    pub(super) fn is_permanent(&self) -> bool {
        self.status.0 == Status::PERMANENT
    }

    fn new(status: Status, text: String) -> Self {
        Self {
            status,
            text,
            server: None,
            reply: None,
        }
    }
}
