//! SMTP sessions as files, and the player that compares a server with them.
//!
//! The README describes the format. [`Dialog::pipelined`] returns the form of a [`Dialog`] that
//! sends as much as possible before it reads replies; otherwise each reply is read before the next
//! command.

#![allow(missing_docs, reason = "the README describes the dialogs")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod parse;
mod session_peer;

use restante_smtp::{Refusal, RequestedReply, SessionFailure};

pub use session_peer::{Cut, SessionPeer};

/// The domain for which mail is accepted in dialogs.
pub const MAIL_DOMAIN: &str = "restante.example.com";
/// The password that opens a project in dialogs.
pub const API_KEY: &str = "rst_live_0123456789abcdef";

/// One file.
#[derive(Clone, Debug)]
pub struct Dialog {
    pub name: String,
    pub conditions: Conditions,
    pub steps: Vec<Step>,
    /// All deliveries, in order.
    pub deliveries: Vec<Delivery>,
}

/// The settings of the server that a dialog needs.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Implicit TLS.
    pub encrypted: bool,
    pub loopback: bool,
    pub start_tls: bool,
    pub plaintext_auth: bool,
    /// Only API keys are accepted, not dummy credentials.
    pub keys_only: bool,
    /// MAIL needs a login, with an API key.
    pub login_required: bool,
    pub message_size: u64,
    pub recipients: usize,
    pub command_line: usize,
    pub data_line: usize,
    pub refused: Vec<Refused>,
    pub faults: Vec<Fault>,
}

/// An injected fault, which is used once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address of the inbox.
    pub inbox: String,
    /// Whether it applies after the message; otherwise it applies at RCPT TO.
    pub at_data: bool,
    pub action: FaultAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultAction {
    Defer(Option<RequestedReply>),
    Reject(Option<RequestedReply>),
    Disconnect {
        store: bool,
    },
    Reset {
        store: bool,
    },
    /// In seconds.
    Delay(u16),
    Bounce,
    Drop,
    Duplicate,
}

/// Something that the service rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub question: Question,
    /// The sender, the recipient, a message's first recipient, or the password.
    pub about: String,
    pub refusal: Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Sender,
    Recipient,
    Message,
    Password,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// The number of the line in the file, from 1.
    pub line: usize,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Send(Vec<u8>),
    /// The start of a line of a reply, without CR LF.
    Expect(String),
    ExpectClose,
    ExpectReset,
    /// The server waits for this many seconds before its next reply.
    ExpectDelay(u16),
    Handshake,
    Server(ServerEvent),
    /// The client disconnects, and the session has failed in this way.
    Leave(Option<SessionFailure>),
}

/// Something that happens at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    ShutsDown,
    TimesOut,
    RefusesConnection,
}

/// A message that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The sender and the recipients, each in angle brackets.
    pub envelope: Vec<String>,
    pub message: Vec<u8>,
}

/// The server against which a dialog is played.
pub trait Peer {
    fn send(&mut self, bytes: &[u8]);
    /// The next line of a reply without CR LF. `None` if the connection is closed or, as far as the
    /// peer knows, no more lines will arrive.
    fn reply_line(&mut self) -> Option<String>;
    fn is_closed(&mut self) -> bool;
    /// Whether the connection was reset; called after `reply_line` has returned `None`.
    fn is_reset(&mut self) -> bool;
    /// Whether the server waits for this time before its next reply. The time has passed when this
    /// returns.
    fn waits(&mut self, seconds: u16) -> Result<(), String>;
    fn handshake(&mut self);
    fn server(&mut self, event: ServerEvent);
    /// Disconnects. The error says how else the session has failed.
    fn leave(&mut self, expected: Option<SessionFailure>) -> Result<(), String>;
    fn deliveries(&self) -> Vec<Delivery>;
}

impl Dialog {
    /// All dialogs, by name.
    pub fn all() -> Vec<Self> {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/dialogs");
        let files = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut dialogs: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|it| it == "dialog"))
            .collect();
        dialogs.sort();
        dialogs.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &std::path::Path) -> Self {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        parse::dialog(&name, &text).unwrap_or_else(|problem| panic!("{name}:{problem}"))
    }

    /// The same dialog, but the client sends as much as possible before it reads a reply.
    pub fn pipelined(&self) -> Self {
        let is_barrier = |action: &Action| matches!(action, Action::Handshake | Action::Server(_));
        let mut steps = Vec::new();
        for part in self
            .steps
            .chunk_by(|one, other| !is_barrier(&one.action) && !is_barrier(&other.action))
        {
            let (sent, other): (Vec<_>, Vec<_>) = part
                .iter()
                .cloned()
                .partition(|step| matches!(step.action, Action::Send(_)));
            if let Some(first) = sent.first() {
                steps.push(Step {
                    line: first.line,
                    action: Action::Send(bytes(&sent).concat()),
                });
            }
            steps.extend(other);
        }
        Self {
            steps,
            ..self.clone()
        }
    }

    /// How many bytes the client sends.
    pub fn sent(&self) -> usize {
        bytes(&self.steps).concat().len()
    }

    /// Plays the dialog. The error is the first difference.
    pub fn play(&self, peer: &mut impl Peer) -> Result<(), String> {
        for step in &self.steps {
            self.play_step(step, peer)
                .map_err(|problem| format!("{}:{}: {problem}", self.name, step.line))?;
        }
        let deliveries = peer.deliveries();
        if deliveries != self.deliveries {
            return Err(format!(
                "{}: delivered {}\n  expected {}",
                self.name,
                show(&deliveries),
                show(&self.deliveries)
            ));
        }
        Ok(())
    }

    fn play_step(&self, step: &Step, peer: &mut impl Peer) -> Result<(), String> {
        match &step.action {
            Action::Send(bytes) => peer.send(bytes),
            Action::Expect(expected) => return expect(expected, peer),
            Action::ExpectClose => return expect_close(peer),
            Action::ExpectReset => return expect_reset(peer),
            Action::ExpectDelay(seconds) => return peer.waits(*seconds),
            Action::Leave(failure) => return peer.leave(*failure),
            Action::Handshake => peer.handshake(),
            Action::Server(event) => peer.server(*event),
        }
        Ok(())
    }
}

/// Reads up to the reply line that starts with `expected`. A dialog may leave out the lines before
/// the last line of a reply.
fn expect(expected: &str, peer: &mut impl Peer) -> Result<(), String> {
    loop {
        match peer.reply_line() {
            Some(line) if line.starts_with(expected) => return Ok(()),
            Some(line) if line.get(..3) == expected.get(..3) && line.get(3..4) == Some("-") => {}
            Some(line) => return Err(format!("got {line:?}, expected {expected:?}")),
            None => return Err(format!("got nothing, expected {expected:?}")),
        }
    }
}

fn expect_close(peer: &mut impl Peer) -> Result<(), String> {
    match peer.reply_line() {
        Some(line) => Err(format!(
            "got {line:?}, expected the connection to be closed"
        )),
        None if peer.is_closed() => Ok(()),
        None => Err("the connection is still open".to_owned()),
    }
}

fn expect_reset(peer: &mut impl Peer) -> Result<(), String> {
    match peer.reply_line() {
        Some(line) => Err(format!("got {line:?}, expected a reset")),
        None if peer.is_reset() => Ok(()),
        None => Err("the connection was not reset".to_owned()),
    }
}

fn bytes(steps: &[Step]) -> Vec<&[u8]> {
    steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Send(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
        .collect()
}

fn show(deliveries: &[Delivery]) -> String {
    let shown = |delivery: &Delivery| {
        format!(
            "{} {}",
            delivery.envelope.join(" "),
            delivery.message.escape_ascii()
        )
    };
    format!("{:#?}", deliveries.iter().map(shown).collect::<Vec<_>>())
}
