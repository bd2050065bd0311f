//! The session state machine: its events, the answers to them, and its phases. `commands` executes
//! SMTP commands; `faults` handles injected faults; `history` tells why a client left.

mod commands;
mod faults;
mod history;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::{Credentials, Exchange, RESPONSE_BYTES};
use crate::body::{BodyLimits, BodyReader};
use crate::command::Mail;
use crate::envelope::Envelope;
use crate::input::Input;
use crate::line::{Line, LineReader};
use crate::path::ReversePath;
use crate::reply::{Refusal, Reply};
use restante_mail::{AcceptedDomains, Domain, EmailAddress};

pub use faults::{Closing, Fault};
use history::History;
pub use history::Said;

/// The session ends after this many unknown or malformed commands in a row.
const ERRORS: u32 = 20;
/// The session ends after this many failed authentications.
const FAILED_AUTHENTICATIONS: u32 = 3;

/// The settings that all sessions of a server share.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The mail domain.
    pub mail_domain: Domain,
    /// Further domains for which mail is accepted.
    pub accepted: AcceptedDomains,
    /// The name of the server in its greeting.
    pub host_name: String,
    /// Maximum number of bytes of a message.
    pub message_size: u64,
    /// Maximum number of recipients of a message.
    pub recipients: usize,
    /// Maximum number of bytes of a command line, with its CR LF.
    pub command_line: usize,
    /// Maximum number of bytes of a line in a message, with its CR LF.
    pub data_line: usize,
    /// Whether STARTTLS is offered.
    pub start_tls: bool,
    /// Whether AUTH is offered without encryption even to clients on other hosts.
    pub plaintext_auth: bool,
    /// Whether MAIL is rejected before a successful AUTH.
    pub login_required: bool,
}

/// The properties of the connection. AUTH is offered on encrypted and loopback connections, or if
/// `plaintext_auth` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether the client is on the same host.
    pub loopback: bool,
}

/// What the caller must do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Send the replies, read from the client, and pass the bytes to [`Session::receive`]. This
    /// event also occurs while the session waits for an answer of the caller.
    NeedInput,
    /// Send a reply. It may be kept until the next [`Event::NeedInput`], [`Event::StartTls`] or
    /// [`Event::Close`], so that the replies to pipelined commands are sent together.
    Send(Reply),
    /// Send the replies, and wait for this time before the next call of [`Session::next`]. Used by
    /// the fault `delay`.
    HoldBack(Duration),
    /// Send the replies, start TLS, then call [`Session::tls_started`]. Bytes that were read before
    /// the handshake must be passed to the session, never to TLS, because they were not encrypted.
    StartTls,
    /// Check the credentials, and call [`Session::authenticated`].
    Authenticate(Credentials),
    /// The client starts a message with this sender; call [`Session::sender`].
    Sender(ReversePath),
    /// The client sent RCPT TO with this address on the mail domain or an accepted one; call
    /// [`Session::recipient`] or [`Session::fault`].
    Recipient(EmailAddress),
    /// Store this message for every recipient, and call [`Session::delivered`] when it is on stable
    /// storage, or [`Session::fault`].
    Deliver(Envelope, Vec<u8>),
    /// A message was received in full and rejected. This event is for the log and needs no answer;
    /// the reply is the next event.
    Refused {
        /// The message's envelope.
        envelope: Envelope,
        /// The message's size in bytes.
        size: u64,
        /// Why it was rejected.
        refusal: Refusal,
    },
    /// Send the replies and reset the connection. Used by the fault `reset`.
    Reset,
    /// Send the replies and close the connection.
    Close,
}

/// The state of the message that is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the message so far.
    pub received: u64,
    /// Bytes of memory that the message uses; 0 if the message will be rejected.
    pub memory: usize,
}

/// One client's session, from the greeting to the end.
#[derive(Debug)]
pub struct Session {
    config: Arc<SessionConfig>,
    transport: Transport,
    input: Input,
    lines: LineReader,
    events: VecDeque<Event>,
    phase: Phase,
    client: Option<Client>,
    authentication: Authentication,
    transaction: Option<Transaction>,
    stopping: bool,
    errors: u32,
    failed_authentications: u32,
    history: History,
}

/// The phase of the session. It decides how the next bytes are interpreted.
#[derive(Debug)]
enum Phase {
    /// The greeting has not been sent yet.
    Greeting,
    /// Bytes are commands.
    Command,
    /// Bytes are a response to an AUTH challenge.
    Exchange(Exchange),
    /// Bytes are part of the message.
    Data(BodyReader),
    /// Bytes are an error: STARTTLS was accepted, and the client must wait for the handshake.
    StartTls,
    /// Bytes are buffered until the caller has answered.
    Waiting(Question),
    /// Bytes are ignored.
    Closed,
}

/// The answer that the session waits for.
#[derive(Debug)]
enum Question {
    Handshake,
    /// Whether they contain a token.
    Credentials(bool),
    Sender(Mail),
    /// The last recipient of the transaction, with its path as the client wrote it.
    Recipient(String),
    Delivery,
}

/// Whether the client has authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Authentication {
    None,
    Valid,
    /// It has authenticated, but its credentials are no longer valid. It must authenticate again
    /// before it may send. Without this state, later mail would count as unauthenticated.
    Expired,
}

/// How the client introduced itself.
#[derive(Clone, Debug)]
struct Client {
    name: Arc<str>,
    extended: bool,
}

/// A mail transaction: MAIL was accepted.
#[derive(Debug)]
struct Transaction {
    mail: Mail,
    recipients: Vec<EmailAddress>,
    /// Whether a recipient was rejected.
    refused: bool,
}

impl Session {
    /// Starts a session. Its first event is the greeting.
    #[must_use]
    pub fn new(config: Arc<SessionConfig>, transport: Transport) -> Self {
        Self {
            config,
            transport,
            input: Input::default(),
            lines: LineReader::default(),
            events: VecDeque::new(),
            phase: Phase::Greeting,
            client: None,
            authentication: Authentication::None,
            transaction: None,
            stopping: false,
            errors: 0,
            failed_authentications: 0,
            history: History::default(),
        }
    }

    /// Receives bytes from the client.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.history.bytes(bytes);
        match &mut self.phase {
            Phase::Closed => {}
            Phase::Waiting(Question::Handshake) if !bytes.is_empty() => self.phase = Phase::Closed,
            // Bytes are passed directly to the body, so that a message is copied only once.
            Phase::Data(body) if self.input.is_empty() => {
                let taken = body.read(bytes);
                self.input.push(&bytes[taken..]);
            }
            _ => self.input.push(bytes),
        }
    }

    /// The next event. After the end, every call returns [`Event::Close`].
    // Not an iterator, because it has no end, and its events need answers.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            if !self.advance() {
                return Event::NeedInput;
            }
        }
    }

    /// TLS has started. The session discards all information that the client sent before (RFC 3207,
    /// section 4.2).
    pub fn tls_started(&mut self) {
        if let Phase::Waiting(Question::Handshake) = self.phase {
            self.transport.encrypted = true;
            self.client = None;
            self.authentication = Authentication::None;
            self.transaction = None;
            self.history = History::default();
            self.phase = Phase::Command;
        }
    }

    /// Answers [`Event::Authenticate`].
    pub fn authenticated(&mut self, outcome: Result<(), Refusal>) {
        let Phase::Waiting(Question::Credentials(is_token)) = self.phase else {
            return;
        };
        self.phase = Phase::Command;
        match outcome {
            Ok(()) => {
                self.authentication = Authentication::Valid;
                self.accept(Reply::authenticated());
            }
            Err(Refusal::AuthenticationFailed) if is_token => {
                let (reason, exchange) = Exchange::wrong_token();
                self.phase = Phase::Exchange(exchange);
                self.send(Reply::challenge(reason));
            }
            Err(refusal) => self.refuse_credentials(refusal),
        }
    }

    /// Answers [`Event::Sender`]. [`Refusal::AuthenticationRequired`] means that the credentials of
    /// the session are no longer valid: the client must authenticate again.
    pub fn sender(&mut self, outcome: Result<(), Refusal>) {
        let Phase::Waiting(Question::Sender(mail)) = &mut self.phase else {
            return;
        };
        let mail = std::mem::take(mail);
        self.phase = Phase::Command;
        match outcome {
            Ok(()) => {
                self.transaction = Some(Transaction {
                    mail,
                    recipients: Vec::new(),
                    refused: false,
                });
                self.accept(Reply::sender_ok());
            }
            Err(refusal) => {
                if refusal == Refusal::AuthenticationRequired {
                    self.authentication = Authentication::Expired;
                }
                self.refuse(Reply::refused_sender(
                    refusal,
                    Some(&mail.reverse_path.to_string()),
                ));
            }
        }
    }

    /// Answers [`Event::Recipient`].
    pub fn recipient(&mut self, outcome: Result<(), Refusal>) {
        let Phase::Waiting(Question::Recipient(path)) = &mut self.phase else {
            return;
        };
        let path = std::mem::take(path);
        self.phase = Phase::Command;
        match outcome {
            Ok(()) => self.accept(Reply::recipient_ok()),
            Err(refusal) => {
                if let Some(transaction) = &mut self.transaction {
                    transaction.recipients.pop();
                }
                self.refuse_recipient(refusal, Some(&path));
            }
        }
    }

    /// Answers [`Event::Deliver`] with the ids of the stored message, one per inbox, or why it is
    /// not stored.
    pub fn delivered<I: fmt::Display>(&mut self, outcome: Result<Vec<I>, Refusal>) {
        if !matches!(self.phase, Phase::Waiting(Question::Delivery)) {
            return;
        }
        self.phase = Phase::Command;
        match outcome {
            Ok(ids) => self.accept(Reply::stored(&ids)),
            Err(refusal) => self.refuse(Reply::refused(refusal)),
        }
    }

    /// The server is stopping: the reply to the next command is 421. A message that is being
    /// received is still completed, stored and answered.
    pub fn shut_down(&mut self) {
        self.stopping = true;
    }

    /// Ends the session immediately; `reason` is the last reply.
    pub fn close(&mut self, reason: Refusal) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.transaction = None;
            self.input.clear();
            self.send(Reply::refused(reason));
        }
    }

    /// Whether the client has authenticated since TLS was last started.
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.authentication == Authentication::Valid
    }

    /// The state of the message that is being received, if one is.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        let Phase::Data(body) = &self.phase else {
            return None;
        };
        Some(Progress {
            received: body.size(),
            memory: body.memory(),
        })
    }

    /// Reserves memory for `bytes` of the message that is being received. The system provides
    /// memory only when it is written, so this may be more than the message will need.
    pub fn reserve(&mut self, bytes: usize) {
        if let Phase::Data(body) = &mut self.phase {
            body.reserve(bytes);
        }
    }

    fn allows_auth(&self) -> bool {
        self.transport.encrypted || self.transport.loopback || self.config.plaintext_auth
    }

    /// Processes one step. Returns `false` if more input is needed.
    fn advance(&mut self) -> bool {
        match &self.phase {
            Phase::Greeting => {
                self.phase = Phase::Command;
                self.send(Reply::greeting(&self.config.host_name));
                true
            }
            Phase::Command => self.read_line(self.config.command_line),
            Phase::Exchange(_) => self.read_line(RESPONSE_BYTES),
            Phase::Data(_) => self.read_data(),
            Phase::StartTls => {
                self.start_tls();
                true
            }
            Phase::Waiting(_) => false,
            Phase::Closed => {
                self.events.push_back(Event::Close);
                true
            }
        }
    }

    fn read_line(&mut self, limit: usize) -> bool {
        let (taken, line) = self.lines.read(self.input.unread(), limit);
        self.input.take(taken);
        let Some(line) = line else { return false };
        if self.stopping {
            self.close(Refusal::ShuttingDown);
        } else if let Phase::Exchange(exchange) = std::mem::replace(&mut self.phase, Phase::Command)
        {
            self.run_response(exchange, line);
        } else {
            self.run_line(line);
        }
        true
    }

    fn run_response(&mut self, exchange: Exchange, line: Line) {
        let step = match line {
            Line::Whole(line) => exchange.answer(&line),
            Line::TooLong => Err(Refusal::AuthenticationTooLong),
            Line::BareLineEnd => Err(Refusal::MalformedAuthentication),
        };
        self.continue_exchange(step);
    }

    fn read_data(&mut self) -> bool {
        let Phase::Data(body) = &mut self.phase else {
            return false;
        };
        let taken = body.read(self.input.unread());
        self.input.take(taken);
        if !body.has_ended() {
            return false;
        }
        if let Phase::Data(body) = std::mem::replace(&mut self.phase, Phase::Command) {
            self.end_data(body);
        }
        true
    }

    /// Delivers the message or rejects it. Both end the transaction.
    fn end_data(&mut self, body: BodyReader) {
        let Some(envelope) = self.take_envelope() else {
            return;
        };
        let size = body.size();
        match body.finish() {
            Ok(message) => {
                self.phase = Phase::Waiting(Question::Delivery);
                self.events.push_back(Event::Deliver(envelope, message));
            }
            Err(refusal) => {
                self.events.push_back(Event::Refused {
                    envelope,
                    size,
                    refusal,
                });
                self.refuse(Reply::refused(refusal));
            }
        }
    }

    fn take_envelope(&mut self) -> Option<Envelope> {
        let transaction = self.transaction.take()?;
        let client = self.client.clone()?;
        Some(Envelope {
            reverse_path: transaction.mail.reverse_path,
            recipients: transaction.recipients,
            client_name: client.name,
            extended: client.extended,
            encrypted: self.transport.encrypted,
            authenticated: self.authentication == Authentication::Valid,
            smtputf8: transaction.mail.smtputf8,
        })
    }

    /// Bytes after STARTTLS and before the handshake are not encrypted, so they may come from an
    /// attacker (CVE-2011-0411). They are not executed, and the connection is closed.
    fn start_tls(&mut self) {
        if self.input.is_empty() {
            self.phase = Phase::Waiting(Question::Handshake);
            self.events.push_back(Event::StartTls);
        } else {
            self.phase = Phase::Closed;
        }
    }

    fn new_body(&self) -> BodyReader {
        BodyReader::new(BodyLimits {
            message: self.config.message_size,
            line: self.config.data_line,
        })
    }

    /// Sends a positive reply.
    fn accept(&mut self, reply: Reply) {
        self.errors = 0;
        self.send(reply);
    }

    fn refuse(&mut self, reply: Reply) {
        if reply.refusal().is_some_and(Refusal::is_gibberish) {
            self.errors += 1;
        }
        if self.errors >= ERRORS {
            self.close(Refusal::TooManyErrors);
        } else {
            self.send(reply);
        }
    }

    fn send(&mut self, reply: Reply) {
        if reply.refusal().is_some() {
            self.history.rejected();
        }
        self.events.push_back(Event::Send(reply));
    }
}

#[cfg(test)]
mod tests;
