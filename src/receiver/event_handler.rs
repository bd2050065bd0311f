//! Answers the events of a session with what the door says. Writes one log line for each rejected
//! sender or recipient. The log never contains a body, a code or a key.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use super::arrival::Arrival;
use super::context::Context;
use super::trace::Trace;
use super::transcript::{Client, Transcript};
use crate::admission::Admitted;
use crate::config::SmtpAuth;
use crate::evidence::accepting_flag;
use crate::metrics;
use crate::model::{
    ApiKey, EmailAddress, FaultAction, MessageId, ProjectId, Reception, RefusalReason, Via,
    closed_on_request,
};
use crate::service::{Door, FAILED_GUESS, Incoming, Receipt, SmtpConnection};
use restante_smtp::reply::RefusedPath;
use restante_smtp::{
    Credentials, Envelope, Event, Fault, Refusal, Reply, Said, Session, SessionFailure, Verb,
};

/// Enough for most traces.
const TRACE_BYTES: usize = 256;

/// Handles the events of one session.
pub(super) struct EventHandler {
    peer: SocketAddr,
    admitted: Arc<Admitted>,
    context: Arc<Context>,
    door: Door,
    /// The key that the client authenticated with. It is checked again for each message.
    key: Option<String>,
    /// The TLS version, once the connection is encrypted.
    tls: Option<&'static str>,
    /// Counts the connection as open until it is dropped.
    _connection: SmtpConnection,
    /// The sender of the current message, and the recipients that the last answer is for.
    sender: String,
    recipients: Vec<EmailAddress>,
    transcript: Transcript,
}

impl EventHandler {
    pub(super) fn new(peer: SocketAddr, admitted: Admitted, context: Arc<Context>) -> Self {
        Self {
            peer,
            admitted: Arc::new(admitted),
            _connection: context.service.smtp_connected(),
            door: Door::new(
                context.service.clone(),
                Arc::clone(&context.disk),
                peer,
                Via::Smtp,
            ),
            context,
            key: None,
            tls: None,
            sender: String::new(),
            recipients: Vec::new(),
            transcript: Transcript::default(),
        }
    }

    /// Records that TLS was started, which ends a transaction.
    pub(super) fn encrypted(&mut self, version: Option<&'static str>) {
        self.record_transcript();
        self.tls = version;
    }

    /// Answers `event`, if an answer is needed. `arrival` belongs to the message that was just
    /// received.
    pub(super) async fn handle(
        &mut self,
        session: &mut Session,
        event: Event,
        arrival: Option<Arrival>,
    ) {
        // Before the event changes the transcript, or the client's project.
        self.record_complete_transcript();
        match event {
            Event::Authenticate(credentials) => {
                let outcome = self.authenticate(credentials).await;
                if outcome == Err(Refusal::AuthenticationFailed) {
                    session.hold_back(FAILED_GUESS);
                }
                session.authenticated(outcome);
            }
            Event::Sender(reverse_path) => {
                self.sender = reverse_path.to_string();
                self.recipients.clear();
                self.transcript.sender(&self.sender);
                session.sender(self.check_sender(session.is_authenticated()).await);
            }
            Event::Recipient(address) => {
                self.transcript.recipient(&address);
                self.recipients = vec![address];
                match self.door.recipient(&self.recipients[0]).await {
                    Ok(Some(action)) => {
                        self.store_disconnection(&action);
                        answer(session, &action, |session| session.recipient(Ok(())));
                    }
                    outcome => session.recipient(outcome.map(drop)),
                }
            }
            Event::Deliver(envelope, raw) => match self.deliver(envelope, raw, arrival).await {
                Ok(receipt) => {
                    let disconnects = receipt.reply.iter();
                    disconnects.for_each(|action| self.store_disconnection(action));
                    self.transcript.accepted_for(receipt.owner);
                    let ids = receipt.messages;
                    match &receipt.reply {
                        Some(action) => {
                            answer(session, action, |session| session.delivered(Ok(ids)));
                        }
                        None => session.delivered(Ok(ids)),
                    }
                }
                Err(refusal) => session.delivered::<MessageId>(Err(refusal)),
            },
            Event::Refused {
                envelope,
                size,
                refusal,
            } => {
                self.recipients = envelope.recipients;
                self.transcript.message();
                metrics::message_refused(refusal.label());
                self.door
                    .log(&self.sender, &self.recipients, size, Err(&refusal));
            }
            Event::NeedInput | Event::Send(_) | Event::HoldBack(_) | Event::StartTls => {}
            Event::Reset | Event::Close => {}
        }
    }

    /// A password or user name that contains the prefix of a key must be a valid key. All others
    /// have no effect, because test environments often use dummy credentials.
    async fn authenticate(&mut self, credentials: Credentials) -> Result<(), Refusal> {
        self.key = None;
        self.door.project = None;
        let Credentials {
            password, username, ..
        } = credentials;
        let key = match (
            password.contains(ApiKey::PREFIX),
            username.contains(ApiKey::PREFIX),
        ) {
            (false, true) => username,
            (false, false) if self.context.auth == SmtpAuth::Any => return Ok(()),
            _ => password,
        };
        let project = self
            .project_of(&key, Refusal::AuthenticationUnavailable)
            .await?;
        self.door.project = Some(project.ok_or(Refusal::AuthenticationFailed)?);
        self.key = Some(key);
        Ok(())
    }

    /// Finds the project of a key. Returns the refusal `unavailable` if the store fails.
    async fn project_of(
        &self,
        key: &str,
        unavailable: Refusal,
    ) -> Result<Option<ProjectId>, Refusal> {
        let found = self
            .door
            .answer(self.context.service.authenticate(key))
            .await;
        match found.map_err(|_| unavailable)? {
            Ok(caller) => Ok(caller.map(|caller| caller.project)),
            Err(error) => {
                tracing::error!(peer = %self.peer, %error, "cannot check a key");
                Err(unavailable)
            }
        }
    }

    async fn check_sender(&mut self, authenticated: bool) -> Result<(), Refusal> {
        if !authenticated {
            self.key = None;
            self.door.project = None;
        }
        self.check_again().await?;
        self.door.sender().await
    }

    /// Checks the key of the session again, because it may have been revoked since the client
    /// authenticated.
    async fn check_again(&mut self) -> Result<(), Refusal> {
        let Some(key) = &self.key else { return Ok(()) };
        let found = self.project_of(key, Refusal::StoreFailure).await?;
        if found == self.door.project {
            return Ok(());
        }
        self.key = None;
        self.door.project = None;
        Err(Refusal::AuthenticationRequired)
    }

    async fn deliver(
        &mut self,
        envelope: Envelope,
        raw: Vec<u8>,
        arrival: Option<Arrival>,
    ) -> Result<Receipt, Refusal> {
        self.transcript.message();
        self.recipients.clone_from(&envelope.recipients);
        let size = raw.len();
        // Until the delivery has ended, the memory of the message and the admission of the
        // connection are taken.
        let held = (
            arrival.and_then(Arrival::into_permit),
            Arc::clone(&self.admitted),
        );
        let parsing = self.context.memory.parsing(size);
        let incoming = self.incoming(envelope, raw);
        let outcome = self
            .door
            .message(&self.sender, incoming, parsing, held)
            .await;
        if let Err(refusal) = &outcome {
            metrics::message_refused(refusal.label());
        }
        outcome
    }

    fn incoming(&self, mut envelope: Envelope, raw: Vec<u8>) -> Incoming {
        // Dummy credentials belong to no project.
        envelope.authenticated &= self.key.is_some();
        let service = &self.context.service;
        let fields = Trace {
            envelope: &envelope,
            peer: self.peer.ip(),
            mail_domain: service.mail_domain(),
            received_at: service.clock().now(),
        };
        let mut trace = String::with_capacity(TRACE_BYTES);
        // Writing into memory cannot fail.
        let _ = write!(trace, "{fields}");
        let reception = Reception {
            client: self.peer.ip().to_canonical(),
            helo: Some(Arc::clone(&envelope.client_name)),
            tls: self.tls,
            authenticated: envelope.authenticated,
            via: Via::Smtp,
        };
        Incoming {
            reverse_path: envelope.reverse_path.as_str().to_owned(),
            project: self.door.project.filter(|_| envelope.authenticated),
            recipients: envelope.recipients,
            trace,
            reception: Some(reception),
            raw,
        }
    }

    /// Logs a reply that rejects a sender or a recipient. Stores every refusal except that of a
    /// DATA without valid recipients, because the refusal of each recipient is stored and has the
    /// reason.
    pub(super) fn log_refusal(&self, reply: &Reply) {
        let Some(refusal) = reply.refusal() else {
            return;
        };
        if refusal != Refusal::NoValidRecipients {
            self.store_refusal(refusal, reply);
        }
        if let Some(RefusedPath::Sender(path) | RefusedPath::Recipient(path)) = reply.path() {
            metrics::refused(refusal.label());
            if self.context.refusal_log.admits(self.peer.ip()) {
                let outcome = refusal.label();
                let accepted = self.context.service.accepted();
                let flag = accepting_flag(path, accepted);
                match flag.filter(|_| refusal == Refusal::RelayNotPermitted) {
                    Some(remedy) => {
                        tracing::info!(peer = %self.peer, path, outcome, remedy, "path refused");
                    }
                    None => tracing::info!(peer = %self.peer, path, outcome, "path refused"),
                }
            }
        }
    }

    /// Adds the reply to the last command to the transcript. That of an earlier transaction is
    /// recorded before.
    pub(super) fn write_down(&mut self, session: &Session, reply: &Reply) {
        self.record_complete_transcript();
        let said = session.last_said();
        self.transcript
            .reply(said, reply, session.is_in_transaction());
        let is_stored = said == Said::Command(Verb::Data) && reply.refusal().is_none();
        if !is_stored {
            self.record_complete_transcript();
        }
    }

    fn record_complete_transcript(&mut self) {
        if self.transcript.is_complete() {
            self.record_transcript();
        }
    }

    /// Records the transcript of the current transaction for each inbox that it named.
    pub(super) fn record_transcript(&mut self) {
        let client = Client {
            address: self.peer.ip().to_canonical().to_string(),
            tls: self.tls,
            project: self.door.project,
            mail_domain: self.context.service.mail_domain(),
            now: self.context.clock().now(),
        };
        let sessions = self.transcript.end(&client);
        sessions
            .into_iter()
            .for_each(|session| self.context.service.record_session(session));
    }

    fn store_refusal(&self, refusal: Refusal, reply: &Reply) {
        let reason = RefusalReason::Smtp(refusal);
        let text = reply.to_string();
        let text = text.trim_end();
        match reply.path() {
            _ if refusal == Refusal::AuthenticationFailed => {
                self.door.record(&reason, "", "", text);
            }
            None => self.record_for_all(&reason, text),
            Some(RefusedPath::Sender(path)) => self.door.record(&reason, path, "", text),
            Some(RefusedPath::Recipient(path)) => {
                self.door.record(&reason, &self.sender, path, text);
            }
        }
    }

    /// The session ended before MAIL. Logs and counts it, and stores it among the refusals, unless
    /// one of them is the reason: one row for each client and kind.
    pub(super) fn failed(&self, failure: SessionFailure, detail: Option<String>) {
        metrics::session_failed(failure.label());
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        match failure {
            // Health checks often connect like this.
            SessionFailure::NoCommand => {
                tracing::debug!(peer = %self.peer, outcome = failure.label(), "session without mail");
            }
            _ if self.context.refusal_log.admits(self.peer.ip()) => {
                tracing::info!(peer = %self.peer, outcome = failure.label(), "session without mail{detail}");
            }
            _ => {}
        }
        if failure != SessionFailure::Rejected {
            let what = format!("{}{detail}", failure.description());
            self.door
                .record(&RefusalReason::Session(failure), "", "", &what);
        }
    }

    /// Stores a disconnection among the refusals if the message is not stored before.
    fn store_disconnection(&self, action: &FaultAction) {
        if let Some(closing) = action.closing()
            && action.copies() == 0
        {
            let reason = RefusalReason::DisconnectedOnRequest;
            self.record_for_all(&reason, closed_on_request(closing));
        }
    }

    /// Records a refusal for each recipient, so that each owner sees only their own.
    fn record_for_all(&self, reason: &RefusalReason, reply: &str) {
        if self.recipients.is_empty() {
            self.door.record(reason, &self.sender, "", reply);
        }
        for recipient in &self.recipients {
            self.door
                .record(reason, &self.sender, &recipient.to_string(), reply);
        }
    }
}

/// Answers an event with a fault. If the fault only delays the answer or stores the message twice,
/// the real answer follows.
fn answer(session: &mut Session, action: &FaultAction, accept: impl FnOnce(&mut Session)) {
    if let Some(reply) = action.refusal() {
        return session.fault(Fault::Refuse(reply));
    }
    if let Some(closing) = action.closing() {
        return session.fault(Fault::Disconnect(closing));
    }
    if let Some(delay) = action.delay() {
        session.fault(Fault::Delay(delay));
    }
    accept(session);
}
