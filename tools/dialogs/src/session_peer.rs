//! Plays a dialog against the pure session. A test chooses where the client's bytes are split.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use restante_mail::Domain;
use restante_smtp::{
    Closing, Credentials, Envelope, Event, Fault, Refusal, RequestedReply, Session, SessionConfig,
    SessionFailure, Transport,
};

use crate::{API_KEY, Conditions, Delivery, FaultAction, MAIL_DOMAIN, Peer, Question, ServerEvent};

/// Where the client's bytes are split.
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
    /// The lines of replies, and the delays between them.
    replies: VecDeque<Line>,
    deliveries: Vec<Delivery>,
    closed: bool,
    reset: bool,
}

#[derive(Debug)]
enum Line {
    Reply(String),
    Delay(Duration),
}

impl SessionPeer {
    pub fn new(conditions: &Conditions, cut: Cut) -> Self {
        let config = SessionConfig {
            mail_domain: Domain::parse(MAIL_DOMAIN).unwrap(),
            accepted: Default::default(),
            host_name: "mx.restante.example.com".to_owned(),
            message_size: conditions.message_size,
            recipients: conditions.recipients,
            command_line: conditions.command_line,
            data_line: conditions.data_line,
            start_tls: conditions.start_tls,
            plaintext_auth: conditions.plaintext_auth,
            login_required: conditions.login_required,
        };
        let transport = Transport {
            encrypted: conditions.encrypted,
            loopback: conditions.loopback,
        };
        Self {
            session: Session::new(Arc::new(config), transport),
            conditions: conditions.clone(),
            cut,
            sent: 0,
            replies: VecDeque::new(),
            deliveries: Vec::new(),
            closed: false,
            reset: false,
        }
    }

    /// Handles the session's events until it needs input.
    fn run(&mut self) {
        while !self.closed {
            match self.session.next() {
                Event::NeedInput | Event::StartTls => return,
                Event::Send(reply) => {
                    self.replies.extend(
                        reply
                            .to_string()
                            .lines()
                            .map(|line| Line::Reply(line.to_owned())),
                    );
                }
                Event::Authenticate(credentials) => self.authenticate(&credentials),
                Event::Sender(reverse_path) => {
                    let outcome = self.ask(Question::Sender, reverse_path.as_str());
                    self.session.sender(outcome);
                }
                Event::HoldBack(delay) => self.replies.push_back(Line::Delay(delay)),
                Event::Recipient(address) => self.check_recipient(&address.to_string()),
                Event::Deliver(envelope, message) => self.deliver(&envelope, &message),
                Event::Refused { .. } => {}
                Event::Reset => self.reset = true,
                Event::Close => self.closed = true,
            }
        }
    }

    fn ask(&self, question: Question, about: &str) -> Result<(), Refusal> {
        let mut refused = self.conditions.refused.iter();
        let refused =
            refused.find(|refused| refused.question == question && refused.about == about);
        refused.map_or(Ok(()), |refused| Err(refused.refusal))
    }

    fn check_recipient(&mut self, address: &str) {
        let outcome = self.ask(Question::Recipient, address);
        let action = if outcome.is_ok() {
            self.use_fault(address, false)
        } else {
            None
        };
        if self.play(action.as_ref()) {
            self.session.recipient(outcome);
        }
    }

    /// The next fault of an inbox, if it applies now.
    fn use_fault(&mut self, inbox: &str, at_data: bool) -> Option<FaultAction> {
        let faults = &mut self.conditions.faults;
        let next = faults
            .iter()
            .position(|fault| fault.inbox.eq_ignore_ascii_case(inbox))?;
        (faults[next].at_data == at_data).then(|| faults.remove(next).action)
    }

    /// Applies a fault. Returns whether the answer is still needed.
    fn play(&mut self, action: Option<&FaultAction>) -> bool {
        let refuse = |reply: &Option<RequestedReply>, default: fn() -> RequestedReply| {
            Some(Fault::Refuse(reply.clone().unwrap_or_else(default)))
        };
        let fault = match action {
            Some(FaultAction::Defer(reply)) => refuse(reply, RequestedReply::deferred),
            Some(FaultAction::Reject(reply)) => refuse(reply, RequestedReply::rejected),
            Some(FaultAction::Disconnect { .. }) => Some(Fault::Disconnect(Closing::Close)),
            Some(FaultAction::Reset { .. }) => Some(Fault::Disconnect(Closing::Reset)),
            Some(FaultAction::Delay(seconds)) => {
                Some(Fault::Delay(Duration::from_secs((*seconds).into())))
            }
            Some(FaultAction::Bounce | FaultAction::Drop | FaultAction::Duplicate) | None => None,
        };
        let is_answered = matches!(fault, Some(Fault::Refuse(_) | Fault::Disconnect(_)));
        fault
            .into_iter()
            .for_each(|fault| self.session.fault(fault));
        !is_answered
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

    fn deliver(&mut self, envelope: &Envelope, message: &[u8]) {
        let addresses: Vec<String> = envelope
            .recipients
            .iter()
            .map(ToString::to_string)
            .collect();
        let outcome = self.ask(Question::Message, &addresses[0]);
        let faults = self.use_message_faults(&addresses);
        let reply = faults
            .iter()
            .map(|(_, action)| action)
            .find(|action| !accepts(action));
        let of = |address: &String| {
            faults
                .iter()
                .find(|(inbox, _)| inbox == address)
                .map(|(_, action)| action)
        };
        let is_stored = match reply {
            Some(FaultAction::Disconnect { store } | FaultAction::Reset { store }) => *store,
            Some(FaultAction::Defer(_) | FaultAction::Reject(_)) => false,
            _ => true,
        };
        let mut stored = 0;
        if outcome.is_ok() && is_stored {
            let is_kept = |address: &&String| {
                !matches!(of(address), Some(FaultAction::Bounce | FaultAction::Drop))
            };
            let once: Vec<String> = addresses.iter().filter(is_kept).cloned().collect();
            let twice: Vec<String> = addresses
                .iter()
                .filter(|address| of(address) == Some(&FaultAction::Duplicate))
                .cloned()
                .collect();
            for addresses in [once, twice] {
                stored += addresses.len();
                if !addresses.is_empty() {
                    self.store(envelope, &addresses, message.to_vec());
                }
            }
        }
        if self.play(reply) {
            self.session
                .delivered(outcome.map(|()| (0..stored).collect()));
        }
    }

    /// The faults that apply to a message: the first that changes the reply, and, if the message is
    /// then accepted, every bounce and duplicate.
    fn use_message_faults(&mut self, addresses: &[String]) -> Vec<(String, FaultAction)> {
        let mut faults = Vec::new();
        let mut changes_reply = false;
        for address in addresses {
            let next = self
                .conditions
                .faults
                .iter()
                .find(|fault| fault.inbox.eq_ignore_ascii_case(address));
            let Some(action) = next
                .filter(|fault| fault.at_data)
                .map(|fault| fault.action.clone())
            else {
                continue;
            };
            match &action {
                action if accepts(action) => faults.push((address.clone(), action.clone())),
                _ if changes_reply => {}
                FaultAction::Delay(_)
                | FaultAction::Disconnect { store: true }
                | FaultAction::Reset { store: true } => {
                    changes_reply = true;
                    faults.push((address.clone(), action));
                }
                _ => {
                    faults = vec![(address.clone(), action)];
                    break;
                }
            }
        }
        for (address, _) in &faults {
            self.use_fault(address, true);
        }
        faults
    }

    fn store(&mut self, envelope: &Envelope, addresses: &[String], message: Vec<u8>) {
        let recipients = addresses.iter().map(|address| format!("<{address}>"));
        let envelope = std::iter::once(envelope.reverse_path.to_string())
            .chain(recipients)
            .collect();
        self.deliveries.push(Delivery { envelope, message });
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.run();
        self.session.receive(bytes);
        self.run();
    }
}

/// Whether a fault at the end of the data leaves the reply as it is.
fn accepts(action: &FaultAction) -> bool {
    matches!(
        action,
        FaultAction::Bounce | FaultAction::Drop | FaultAction::Duplicate
    )
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
        match self.replies.pop_front()? {
            Line::Reply(line) => Some(line),
            Line::Delay(delay) => Some(format!("a delay of {} s", delay.as_secs())),
        }
    }

    fn waits(&mut self, seconds: u16) -> Result<(), String> {
        self.run();
        match self.replies.pop_front() {
            Some(Line::Delay(delay)) if delay.as_secs() == u64::from(seconds) => Ok(()),
            other => Err(format!("got {other:?}, expected a delay of {seconds} s")),
        }
    }

    fn is_closed(&mut self) -> bool {
        self.closed
    }

    fn is_reset(&mut self) -> bool {
        self.reset
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

    fn leave(&mut self, expected: Option<SessionFailure>) -> Result<(), String> {
        self.run();
        match self.session.failure() {
            failure if failure == expected => Ok(()),
            other => Err(format!(
                "the session failed with {other:?}, expected {expected:?}"
            )),
        }
    }

    fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.clone()
    }
}
