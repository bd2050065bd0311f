//! The SMTP session as a state machine: its events, the answers they want, and how it moves from phase to phase.
//!
//! A driver sends what it is told to, in order, and reads only when the session needs input:
//!
//! ```text
//! loop {
//!     match session.next() {
//!         Send(reply)  => write it into a buffer
//!         NeedInput    => flush the buffer, read some octets, session.receive(them)
//!         StartTls     => flush, handshake, session.tls_started()
//!         Authenticate => session.authenticated(..)     Sender  => session.sender(..)
//!         Recipient    => session.recipient(..)         Deliver => flush, store, session.delivered(..)
//!         Refused      => log
//!         Close        => flush, close
//!     }
//! }
//! ```

mod commands;

use std::collections::VecDeque;
use std::sync::Arc;

use super::auth::{Credentials, Exchange, RESPONSE_OCTETS};
use super::body::{BodyLimits, BodyReader};
use super::command::Mail;
use super::envelope::Envelope;
use super::input::Input;
use super::line::{Line, LineReader};
use super::path::ReversePath;
use super::reply::{Refusal, Reply};
use crate::model::{Domain, EmailAddress, MessageId, ProjectId};

/// So many commands in a row that are none end the session.
const ERRORS: u32 = 20;
/// So many failed authentications end the session.
const FAILED_AUTHENTICATIONS: u32 = 3;

/// What all sessions have in common.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The only domain that mail is accepted for.
    pub mail_domain: Domain,
    /// The name that the server gives itself.
    pub host_name: String,
    /// The most octets of a message.
    pub message_size: u64,
    /// The most recipients of a message.
    pub recipients: usize,
    /// The most octets of a command line, with its CR LF.
    pub command_line: usize,
    /// The most octets of a line in a message, with its CR LF.
    pub data_line: usize,
    /// Whether there is a certificate, so that STARTTLS can be offered.
    pub start_tls: bool,
}

/// What the session has to know of its connection. AUTH is offered where nobody else can listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether the client is on the same host.
    pub loopback: bool,
}

/// What the driver has to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Flush the replies, then give [`Session::receive`] what comes. Also the answer while a question is open.
    NeedInput,
    /// Send a reply. It need not be flushed before another event than this comes.
    Send(Reply),
    /// Shake hands, then call [`Session::tls_started`]. Octets that were read before the handshake and not given to
    /// the session must be given to it, never to TLS.
    StartTls,
    /// Check these and call [`Session::authenticated`].
    Authenticate(Credentials),
    /// Somebody wants to send a message; call [`Session::sender`].
    Sender {
        /// Who.
        reverse_path: ReversePath,
        /// How large it will be, in octets, if the client said so. It is within the limit.
        size: Option<u64>,
    },
    /// Somebody names a recipient on the mail domain; call [`Session::recipient`].
    Recipient(EmailAddress),
    /// Store this message for every recipient and call [`Session::delivered`] once it cannot be lost.
    Deliver(Envelope, Vec<u8>),
    /// A message was read to its end and refused, for the log; the reply comes next. It wants no answer.
    Refused {
        /// The message's envelope.
        envelope: Envelope,
        /// The message's size in octets.
        size: u64,
        /// What was wrong with it.
        refusal: Refusal,
    },
    /// Flush the replies and close the connection.
    Close,
}

/// How far the message that is being received has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Octets of the message so far.
    pub received: u64,
    /// The size that the client declared.
    pub declared: Option<u64>,
    /// Octets of memory that the message takes; none once it is known to be refused.
    pub memory: usize,
}

/// One client's session from the greeting to the close.
#[derive(Debug)]
pub struct Session {
    config: Arc<SessionConfig>,
    transport: Transport,
    input: Input,
    lines: LineReader,
    events: VecDeque<Event>,
    phase: Phase,
    client: Option<Client>,
    project: Option<ProjectId>,
    transaction: Option<Transaction>,
    stopping: bool,
    errors: u32,
    failed_authentications: u32,
}

/// What the session does with the next octets.
#[derive(Debug)]
enum Phase {
    /// Nothing has been said yet.
    Greeting,
    /// They are commands.
    Command,
    /// They are a response to an AUTH challenge.
    Exchange(Exchange),
    /// They are the message.
    Data(BodyReader),
    /// They must not be there: STARTTLS was accepted, and the client has to wait for the handshake.
    StartTls,
    /// They wait until the driver has answered.
    Waiting(Question),
    /// They are ignored.
    Closed,
}

/// What the driver has been asked.
#[derive(Debug)]
enum Question {
    Handshake,
    Credentials,
    Sender(Mail),
    Recipient(EmailAddress, String),
    Delivery,
}

/// How the client introduced itself.
#[derive(Clone, Debug)]
struct Client {
    name: String,
    extended: bool,
}

/// A mail transaction: MAIL was accepted.
#[derive(Debug)]
struct Transaction {
    mail: Mail,
    recipients: Vec<EmailAddress>,
    /// Whether a recipient was refused.
    refused: bool,
}

impl Transport {
    fn allows_auth(self) -> bool {
        self.encrypted || self.loopback
    }
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
            project: None,
            transaction: None,
            stopping: false,
            errors: 0,
            failed_authentications: 0,
        }
    }

    /// Takes octets from the client.
    pub fn receive(&mut self, octets: &[u8]) {
        match self.phase {
            Phase::Closed => {}
            Phase::Waiting(Question::Handshake) if !octets.is_empty() => self.phase = Phase::Closed,
            _ => self.input.push(octets),
        }
    }

    /// What to do next. After [`Event::Close`] there is nothing but that.
    // Not an iterator: it never ends by itself, and its items want answers.
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

    /// TLS is up. All that the client said before is forgotten (RFC 3207, section 4.2).
    pub fn tls_started(&mut self) {
        if let Phase::Waiting(Question::Handshake) = self.phase {
            self.transport.encrypted = true;
            self.client = None;
            self.project = None;
            self.transaction = None;
            self.phase = Phase::Command;
        }
    }

    /// Answers [`Event::Authenticate`]: the project that the credentials open, or why they open none.
    pub fn authenticated(&mut self, outcome: Result<ProjectId, Refusal>) {
        if !matches!(self.phase, Phase::Waiting(Question::Credentials)) {
            return;
        }
        self.phase = Phase::Command;
        match outcome {
            Ok(project) => {
                self.project = Some(project);
                self.accept(Reply::authenticated());
            }
            Err(refusal) => self.refuse_credentials(refusal),
        }
    }

    /// Answers [`Event::Sender`].
    pub fn sender(&mut self, outcome: Result<(), Refusal>) {
        let Phase::Waiting(Question::Sender(mail)) = &mut self.phase else { return };
        let mail = std::mem::take(mail);
        self.phase = Phase::Command;
        match outcome {
            Ok(()) => {
                self.transaction = Some(Transaction { mail, recipients: Vec::new(), refused: false });
                self.accept(Reply::sender_ok());
            }
            Err(refusal) => self.refuse(Reply::refused(refusal).about(Some(&mail.reverse_path.to_string()))),
        }
    }

    /// Answers [`Event::Recipient`].
    pub fn recipient(&mut self, outcome: Result<(), Refusal>) {
        let Phase::Waiting(Question::Recipient(address, path)) = &self.phase else { return };
        let Some(transaction) = &mut self.transaction else { return };
        let (address, path) = (address.clone(), path.clone());
        self.phase = Phase::Command;
        match outcome {
            Ok(()) => {
                transaction.recipients.push(address);
                self.accept(Reply::recipient_ok());
            }
            Err(refusal) => self.refuse_recipient(refusal, Some(&path)),
        }
    }

    /// Answers [`Event::Deliver`]: the ids under which the message is stored, or why it is not.
    pub fn delivered(&mut self, outcome: Result<Vec<MessageId>, Refusal>) {
        if !matches!(self.phase, Phase::Waiting(Question::Delivery)) {
            return;
        }
        self.phase = Phase::Command;
        match outcome {
            Ok(ids) => self.accept(Reply::stored(&ids)),
            Err(refusal) => self.refuse(Reply::refused(refusal)),
        }
    }

    /// The server is stopping: the next command is answered with 421. A message under way is still received, stored
    /// and answered.
    pub fn shut_down(&mut self) {
        self.stopping = true;
    }

    /// Ends the session at once with a last reply: [`Refusal::TimedOut`], or before the greeting
    /// [`Refusal::TooManyConnections`].
    pub fn close(&mut self, reason: Refusal) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.transaction = None;
            self.input.clear();
            self.send(Reply::refused(reason));
        }
    }

    /// How far the message has come, while one is being received.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        let Phase::Data(body) = &self.phase else { return None };
        let declared = self.transaction.as_ref().and_then(|transaction| transaction.mail.size);
        Some(Progress { received: body.size(), declared, memory: body.memory() })
    }

    /// Makes room for `octets` of the message that is being received. Memory that is not written to costs nothing, so
    /// this may be more than will come.
    pub fn reserve(&mut self, octets: usize) {
        if let Phase::Data(body) = &mut self.phase {
            body.reserve(octets);
        }
    }

    /// Does one step of work, and answers whether there was one to do.
    fn advance(&mut self) -> bool {
        match &self.phase {
            Phase::Greeting => {
                self.phase = Phase::Command;
                self.send(Reply::greeting(&self.config.host_name));
                true
            }
            Phase::Command => self.read_line(self.config.command_line),
            Phase::Exchange(_) => self.read_line(RESPONSE_OCTETS),
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
        } else if let Phase::Exchange(exchange) = std::mem::replace(&mut self.phase, Phase::Command) {
            self.run_response(exchange, line);
        } else {
            self.run_line(line);
        }
        true
    }

    fn run_line(&mut self, line: Line) {
        match line {
            Line::Whole(line) => self.run_command(&line),
            Line::TooLong => self.refuse(Reply::refused(Refusal::LineTooLong)),
            Line::BareLineEnd => self.refuse(Reply::refused(Refusal::MalformedLine)),
        }
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
        let Phase::Data(body) = &mut self.phase else { return false };
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

    /// Hands the message over or refuses it. In both cases the transaction is over.
    fn end_data(&mut self, body: BodyReader) {
        let Some(envelope) = self.take_envelope() else { return };
        let size = body.size();
        match body.finish() {
            Ok(message) => {
                self.phase = Phase::Waiting(Question::Delivery);
                self.events.push_back(Event::Deliver(envelope, message));
            }
            Err(refusal) => {
                self.events.push_back(Event::Refused { envelope, size, refusal });
                self.refuse(Reply::refused(refusal));
            }
        }
    }

    fn take_envelope(&mut self) -> Option<Envelope> {
        let (transaction, client) = (self.transaction.take()?, self.client.clone()?);
        Some(Envelope {
            reverse_path: transaction.mail.reverse_path,
            recipients: transaction.recipients,
            client_name: client.name,
            extended: client.extended,
            encrypted: self.transport.encrypted,
            project: self.project,
            declared_size: transaction.mail.size,
            body: transaction.mail.body,
            smtputf8: transaction.mail.smtputf8,
        })
    }

    /// What came behind STARTTLS before the handshake was not protected by it, so somebody else may have put it there
    /// (CVE-2011-0411). It is not run, and whoever is there is not talked to.
    fn start_tls(&mut self) {
        if self.input.is_empty() {
            self.phase = Phase::Waiting(Question::Handshake);
            self.events.push_back(Event::StartTls);
        } else {
            self.phase = Phase::Closed;
        }
    }

    fn new_body(&self) -> BodyReader {
        BodyReader::new(BodyLimits { message: self.config.message_size, line: self.config.data_line })
    }

    /// Sends a reply that shows the client to be making progress.
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
        self.events.push_back(Event::Send(reply));
    }
}

#[cfg(test)]
mod tests;
