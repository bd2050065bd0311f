//! Why a message was not delivered, in the words of RFC 3463, and whether trying again may help.

use super::peer::Peer;
use super::reply::Reply;
use super::status::Status;

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// What it comes down to.
    pub(super) status: Status,
    /// The same for a person, on one line.
    pub(super) text: String,
    /// The name of the server that was spoken to.
    pub(super) server: Option<String>,
    /// What the server said, on one line, where it was the server that refused.
    pub(super) reply: Option<String>,
}

impl Failure {
    /// Nothing helps: another attempt would fail too.
    pub(super) fn permanent(subject: u16, detail: u16, text: impl Into<String>) -> Self {
        Self::new(Status(Status::PERMANENT, subject, detail), text.into())
    }

    /// Another attempt may succeed.
    pub(super) fn transient(subject: u16, detail: u16, text: impl Into<String>) -> Self {
        Self::new(Status(Status::TRANSIENT, subject, detail), text.into())
    }

    /// `peer` answered `command` with a reply that refuses. Only 5yz refuses for good (RFC 5321, section 4.2.1).
    pub(super) fn refused(peer: &Peer, command: &str, reply: &Reply) -> Self {
        let class = if reply.is_permanent() { Status::PERMANENT } else { Status::TRANSIENT };
        let status = reply.status().filter(|status| status.0 == class).unwrap_or(Status(class, 0, 0));
        let text = format!("{peer} answered {command} with {reply}");
        Self { status, text, server: Some(peer.name.clone()), reply: Some(reply.to_string()) }
    }

    /// The same failure, told of a server.
    pub(super) fn at(self, peer: &Peer) -> Self {
        Self { text: format!("{peer}: {}", self.text), server: Some(peer.name.clone()), ..self }
    }

    /// The same failure, worth another attempt.
    pub(super) fn made_transient(mut self) -> Self {
        self.status.0 = Status::TRANSIENT;
        self
    }

    /// Whether no further attempt is made.
    pub(super) fn is_permanent(&self) -> bool {
        self.status.0 == Status::PERMANENT
    }

    fn new(status: Status, text: String) -> Self {
        Self { status, text, server: None, reply: None }
    }
}
