//! Plays a dialog against the pure session. A test chooses where the client's bytes are cut.

use std::collections::VecDeque;
use std::sync::Arc;

use restante_mail::Domain;
use restante_smtp::{Credentials, Envelope, Event, Refusal, Session, SessionConfig, Transport};

use crate::{API_KEY, Conditions, Delivery, MAIL_DOMAIN, Peer, Question, ServerEvent};

/// Where the client's bytes are cut.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    Nowhere,
    /// After every byte.
    Everywhere,
    /// Once, after this many bytes.
    After(usize),
}

pub struct SessionPeer {
    session: Session,
    conditions: Conditions,
    cut: Cut,
    sent: usize,
    replies: VecDeque<String>,
    deliveries: Vec<Delivery>,
    closed: bool,
}

impl SessionPeer {
    pub fn new(conditions: &Conditions, cut: Cut) -> Self {
        let config = SessionConfig {
            mail_domain: Domain::parse(MAIL_DOMAIN).unwrap(),
            host_name: "mx.restante.test".to_owned(),
            message_size: conditions.message_size,
            recipients: conditions.recipients,
            command_line: conditions.command_line,
            data_line: conditions.data_line,
            start_tls: conditions.start_tls,
            plaintext_auth: conditions.plaintext_auth,
        };
        let transport = Transport { encrypted: conditions.encrypted, loopback: conditions.loopback };
        Self {
            session: Session::new(Arc::new(config), transport),
            conditions: conditions.clone(),
            cut,
            sent: 0,
            replies: VecDeque::new(),
            deliveries: Vec::new(),
            closed: false,
        }
    }

    /// Handles the session's events until it needs input.
    fn run(&mut self) {
        while !self.closed {
            match self.session.next() {
                Event::NeedInput | Event::StartTls => return,
                Event::Send(reply) => self.replies.extend(reply.to_string().lines().map(str::to_owned)),
                Event::Authenticate(credentials) => self.authenticate(&credentials),
                Event::Sender(reverse_path) => {
                    let outcome = self.ask(Question::Sender, reverse_path.as_str());
                    self.session.sender(outcome);
                }
                Event::Recipient(address) => {
                    let outcome = self.ask(Question::Recipient, &address.to_string());
                    self.session.recipient(outcome);
                }
                Event::Deliver(envelope, message) => self.deliver(&envelope, message),
                Event::Refused { .. } => {}
                Event::Close => self.closed = true,
            }
        }
    }

    fn ask(&self, question: Question, about: &str) -> Result<(), Refusal> {
        let fault = self.conditions.faults.iter().find(|fault| fault.question == question && fault.about == about);
        fault.map_or(Ok(()), |fault| Err(fault.refusal))
    }

    fn authenticate(&mut self, credentials: &Credentials) {
        let password = &credentials.password;
        let counts = self.conditions.keys_only || password.starts_with("rst_live_");
        let outcome = match self.ask(Question::Password, password) {
            Ok(()) if counts && password != API_KEY => Err(Refusal::AuthenticationFailed),
            outcome => outcome,
        };
        self.session.authenticated(outcome);
    }

    fn deliver(&mut self, envelope: &Envelope, message: Vec<u8>) {
        let outcome = self.ask(Question::Message, &envelope.recipients[0].to_string());
        if outcome.is_ok() {
            let sender = envelope.reverse_path.to_string();
            let recipients = envelope.recipients.iter().map(|address| format!("<{address}>"));
            self.deliveries.push(Delivery { envelope: std::iter::once(sender).chain(recipients).collect(), message });
        }
        self.session.delivered(outcome.map(|()| (0..envelope.recipients.len()).collect()));
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.run();
        self.session.receive(bytes);
        self.run();
    }
}

impl Peer for SessionPeer {
    fn send(&mut self, bytes: &[u8]) {
        let start = self.sent;
        self.sent += bytes.len();
        match self.cut {
            Cut::After(count) if (start..self.sent).contains(&count) => {
                let (before, after) = bytes.split_at(count - start);
                self.receive(before);
                self.receive(after);
            }
            Cut::Everywhere => bytes.chunks(1).for_each(|byte| self.receive(byte)),
            Cut::Nowhere | Cut::After(_) => self.receive(bytes),
        }
    }

    fn reply_line(&mut self) -> Option<String> {
        self.run();
        self.replies.pop_front()
    }

    fn is_closed(&mut self) -> bool {
        self.closed
    }

    fn handshake(&mut self) {
        self.session.tls_started();
    }

    fn server(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::ShutsDown => self.session.shut_down(),
            ServerEvent::TimesOut => self.session.close(Refusal::TimedOut),
            ServerEvent::RefusesConnection => self.session.close(Refusal::TooManyConnections),
        }
    }

    fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.clone()
    }
}
