//! What the client has done so far, which tells why it left before MAIL.

use super::{Authentication, Phase, Question, Session};
use crate::command::Verb;
use crate::failure::SessionFailure;

/// The first bytes of a TLS handshake: its record type, and the major version (RFC 8446, section
/// 5.1).
const TLS_RECORD: [u8; 2] = [0x16, 0x03];

/// What the client has done since the connection or TLS was started.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The first bytes of the client, and their number.
    first: ([u8; TLS_RECORD.len()], usize),
    /// Whether there was a command other than QUIT.
    commands: bool,
    last: Said,
    mail: bool,
    rejected: bool,
    /// What the last reply to EHLO offered.
    pub(super) offered: Option<Offered>,
}

/// What the client said last, to which the next reply belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// Nothing since the connection or TLS was started.
    #[default]
    Nothing,
    /// A command.
    Command(Verb),
    /// A line that is no command.
    Other,
}

/// The extensions in a reply to EHLO that clients may require.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub(super) start_tls: bool,
    pub(super) auth: bool,
}

impl History {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let (first, count) = &mut self.first;
        for (place, byte) in first.iter_mut().skip(*count).zip(bytes) {
            *place = *byte;
            *count += 1;
        }
    }

    pub(super) fn command(&mut self, verb: Verb) {
        self.last = Said::Command(verb);
        self.commands |= verb != Verb::Quit;
        self.mail |= verb == Verb::Mail;
    }

    /// The client has sent a line. If it is a command, [`History::command`] follows.
    pub(super) fn line(&mut self) {
        self.last = Said::Other;
    }

    pub(super) fn rejected(&mut self) {
        self.rejected = true;
    }
}

impl Session {
    /// What the client said last. A message, and a response to AUTH, belong to their command.
    #[must_use]
    pub fn last_said(&self) -> Said {
        self.history.last
    }

    /// Whether a mail transaction is open: MAIL was accepted, and the message has not been received
    /// in full.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// If the session ends now, why there was no MAIL; `None` if there was one.
    #[must_use]
    pub fn failure(&self) -> Option<SessionFailure> {
        let History {
            first: (first, _),
            commands,
            mail,
            rejected,
            offered,
            ..
        } = &self.history;
        let is_waiting = !self.transport.encrypted && self.authentication == Authentication::None;
        let failure = match offered.filter(|_| is_waiting) {
            _ if *mail => return None,
            _ if !self.transport.encrypted && *first == TLS_RECORD => {
                SessionFailure::TlsWithoutStartTls
            }
            _ if matches!(self.phase, Phase::Waiting(Question::Handshake)) => {
                SessionFailure::LeftInHandshake
            }
            _ if *rejected => SessionFailure::Rejected,
            _ if !commands && self.transport.encrypted => SessionFailure::LeftAfterHandshake,
            _ if !commands => SessionFailure::NoCommand,
            Some(Offered {
                start_tls: true,
                auth: false,
            }) => SessionFailure::AuthNotOffered,
            Some(Offered {
                start_tls: false,
                auth: true,
            }) => SessionFailure::StartTlsNotOffered,
            Some(Offered {
                start_tls: false,
                auth: false,
            }) => SessionFailure::NeitherOffered,
            Some(Offered {
                start_tls: true,
                auth: true,
            })
            | None => SessionFailure::NoMail,
        };
        Some(failure)
    }
}
