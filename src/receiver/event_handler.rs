//! Uses the service to answer the events of the session. Writes one log line for each message,
//! stored or rejected, and one for each rejected sender or recipient. The log never contains a
//! body, a code or a key.

use std::fmt::{Display, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::arrival::Arrival;
use super::context::Context;
use super::trace::Trace;
use super::transcript::{Client, Transcript};
use crate::admission::Admitted;
use crate::config::SmtpAuth;
use crate::metrics;
use crate::model::{
    ApiKey, EmailAddress, FaultAction, MessageId, ProjectId, Reception, RefusalReason, RefusedMail,
    Via, accepting_flag, closed_on_request,
};
use crate::service::{DeliverError, FAILED_GUESS, Incoming, Receipt, SmtpConnection};
use restante_smtp::reply::RefusedPath;
use restante_smtp::{
    Credentials, Envelope, Event, Fault, Refusal, Reply, Said, Session, SessionFailure, Verb,
};

/// How long the client waits for an answer of the service. After that, the reply tells it to try
/// again later.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Enough for most traces.
const TRACE_BYTES: usize = 256;

/// Handles the events of one session.
pub(super) struct EventHandler {
    peer: SocketAddr,
    admitted: Arc<Admitted>,
    context: Arc<Context>,
    alarm: Alarm,
    caller: Option<AuthenticatedClient>,
    /// The TLS version, once the connection is encrypted.
    tls: Option<&'static str>,
    /// Counts the connection as open until it is dropped.
    _connection: SmtpConnection,
    /// The sender and the recipients of the current message, for the log.
    sender: String,
    recipients: String,
    transcript: Transcript,
}

/// The key that the client authenticated with. It is checked again for each message.
struct AuthenticatedClient {
    key: String,
    project: ProjectId,
}

impl EventHandler {
    pub(super) fn new(peer: SocketAddr, admitted: Admitted, context: Arc<Context>) -> Self {
        Self {
            peer,
            admitted: Arc::new(admitted),
            alarm: Alarm::new(context.clock().clone()),
            _connection: context.service.smtp_connected(),
            context,
            caller: None,
            tls: None,
            sender: String::new(),
            recipients: String::new(),
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
                write_joined(&mut self.sender, &[reverse_path]);
                self.recipients.clear();
                self.transcript.sender(&self.sender);
                session.sender(self.check_sender(session.is_authenticated()).await);
            }
            Event::Recipient(address) => {
                write_joined(&mut self.recipients, &[&address]);
                self.transcript.recipient(&address);
                match self.check_recipient(&address).await {
                    Ok(Some(action)) => {
                        tracing::info!(peer = %self.peer, to = self.recipients, fault = action.as_str(), "recipient");
                        self.store_disconnection(&action);
                        answer(session, &action, |session| session.recipient(Ok(())));
                    }
                    outcome => session.recipient(outcome.map(drop)),
                }
            }
            Event::Deliver(envelope, raw) => match self.deliver(envelope, raw, arrival).await {
                Ok(receipt) => {
                    self.store_faults(&receipt);
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
                write_joined(&mut self.recipients, &envelope.recipients);
                self.transcript.message();
                self.log_message(size, Err(&refusal));
            }
            Event::NeedInput | Event::Send(_) | Event::HoldBack(_) | Event::StartTls => {}
            Event::Reset | Event::Close => {}
        }
    }

    /// A password or user name that contains the prefix of a key must be a valid key. All others
    /// have no effect, because test environments often use dummy credentials.
    async fn authenticate(&mut self, credentials: Credentials) -> Result<(), Refusal> {
        self.caller = None;
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
        let unavailable = Refusal::AuthenticationUnavailable;
        let project = self.project_of(&key, unavailable).await?;
        let project = project.ok_or(Refusal::AuthenticationFailed)?;
        self.caller = Some(AuthenticatedClient { key, project });
        Ok(())
    }

    /// Finds the project of a key. Returns the refusal `unavailable` if the store fails.
    async fn project_of(
        &mut self,
        key: &str,
        unavailable: Refusal,
    ) -> Result<Option<ProjectId>, Refusal> {
        let found = within_time_limit(
            &mut self.alarm,
            &self.context,
            self.context.service.authenticate(key),
        )
        .await;
        match found.ok_or(unavailable)? {
            Ok(caller) => Ok(caller.map(|caller| caller.project)),
            Err(error) => {
                tracing::error!(peer = %self.peer, %error, "cannot check a key");
                Err(unavailable)
            }
        }
    }

    async fn check_sender(&mut self, authenticated: bool) -> Result<(), Refusal> {
        match self.caller.take() {
            Some(caller) if authenticated => self.check_again(caller).await?,
            _ => {}
        }
        match within_time_limit(&mut self.alarm, &self.context, self.context.disk.is_full()).await {
            Some(false) => Ok(()),
            Some(true) => Err(Refusal::DiskShort),
            None => Err(Refusal::StoreFailure),
        }
    }

    /// Checks the key of the session again, because it may have been revoked since the client
    /// authenticated.
    async fn check_again(&mut self, caller: AuthenticatedClient) -> Result<(), Refusal> {
        let found = self.project_of(&caller.key, Refusal::StoreFailure).await;
        if let Ok(found) = found
            && found != Some(caller.project)
        {
            return Err(Refusal::AuthenticationRequired);
        }
        self.caller = Some(caller);
        found.map(drop)
    }

    async fn check_recipient(
        &mut self,
        address: &EmailAddress,
    ) -> Result<Option<FaultAction>, Refusal> {
        let project = self.caller.as_ref().map(|caller| caller.project);
        let checked = self.context.service.accept_recipient(address, project);
        match within_time_limit(&mut self.alarm, &self.context, checked).await {
            Some(outcome) => outcome.map_err(|error| self.refusal(&error)),
            None => Err(Refusal::StoreFailure),
        }
    }

    async fn deliver(
        &mut self,
        envelope: Envelope,
        raw: Vec<u8>,
        arrival: Option<Arrival>,
    ) -> Result<Receipt, Refusal> {
        self.transcript.message();
        write_joined(&mut self.recipients, &envelope.recipients);
        let size = raw.len() as u64;
        let time = self.context.service.delivery_timeout(raw.len());
        let delivery = Box::pin(self.delivery(envelope, raw, arrival));
        let started = Instant::now();
        let outcome = match within(&mut self.alarm, &self.context, time, delivery).await {
            Some(delivered) => delivered.map_err(|error| self.refusal(&error)),
            None => Err(Refusal::StoreFailure),
        };
        if outcome
            .as_ref()
            .is_ok_and(|receipt| !receipt.messages.is_empty())
        {
            metrics::message_stored(size, started.elapsed());
        }
        self.log_message(size, outcome.as_ref());
        outcome
    }

    /// Parses and stores a message. The committer keeps the memory of the message and the admission
    /// of the connection until the delivery has ended, even if the client got its reply earlier.
    /// Therefore, if the store hangs, clients that retry cannot exceed these limits.
    fn delivery(
        &self,
        envelope: Envelope,
        raw: Vec<u8>,
        arrival: Option<Arrival>,
    ) -> impl Future<Output = Result<Receipt, DeliverError>> + Send + use<> {
        let service = self.context.service.clone();
        let memory = Arc::clone(&self.context.memory);
        let incoming = self.incoming(envelope, raw);
        let held = (
            arrival.and_then(Arrival::into_permit),
            Arc::clone(&self.admitted),
        );
        async move {
            let parsing = memory.parsing(incoming.raw.len()).await;
            let prepared = service.prepare(incoming).await;
            // Another large message may now be parsed, while this one is written.
            drop(parsing);
            service.store(prepared?.holding(held)).await
        }
    }

    fn incoming(&self, mut envelope: Envelope, raw: Vec<u8>) -> Incoming {
        // Dummy credentials belong to no project.
        envelope.authenticated &= self.caller.is_some();
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
            project: self
                .caller
                .as_ref()
                .filter(|_| envelope.authenticated)
                .map(|caller| caller.project),
            recipients: envelope.recipients,
            trace,
            reception: Some(reception),
            raw,
        }
    }

    fn refusal(&self, error: &DeliverError) -> Refusal {
        if let DeliverError::Store(error) = error {
            tracing::error!(peer = %self.peer, %error, "the store failed");
        }
        error.refusal()
    }

    fn log_message(&self, size: u64, outcome: Result<&Receipt, &Refusal>) {
        let peer = self.peer;
        let from = &self.sender;
        let to = &self.recipients;
        match outcome {
            Ok(receipt) => {
                let mut ids = String::new();
                let mut faults = String::new();
                write_joined(&mut ids, &receipt.messages);
                if receipt.faults.is_empty() {
                    return tracing::info!(%peer, %from, to, size, outcome = "stored", ids, "message");
                }
                write_joined(&mut faults, &receipt.faults);
                tracing::info!(%peer, %from, to, size, outcome = "fault", fault = faults, ids, "message");
            }
            Err(refusal) => {
                metrics::message_refused(refusal.label());
                tracing::info!(%peer, %from, to, size, outcome = refusal.label(), "message");
            }
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
                match accepting_flag(path).filter(|_| refusal == Refusal::RelayNotPermitted) {
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
            project: self.caller.as_ref().map(|caller| caller.project),
            mail_domain: self.context.service.mail_domain(),
            now: self.context.clock().now(),
        };
        let sessions = self.transcript.end(&client);
        sessions
            .into_iter()
            .for_each(|session| self.context.service.record_session(session));
    }

    fn store_refusal(&self, refusal: Refusal, reply: &Reply) {
        if refusal == Refusal::AuthenticationFailed {
            // One row for all failed logins of the client, so that guesses do not displace other
            // refusals.
            let peer = self.peer.ip().to_canonical().to_string();
            return self.record(
                &peer,
                "",
                vec![""],
                &RefusalReason::Smtp(refusal),
                reply.to_string().trim_end(),
            );
        }
        let (sender, recipients) = match reply.path() {
            None => (self.sender.as_str(), self.recipients.split(' ').collect()),
            Some(RefusedPath::Sender(path)) => (path.as_str(), vec![""]),
            Some(RefusedPath::Recipient(path)) => (self.sender.as_str(), vec![path.as_str()]),
        };
        self.record(
            &self.peer.to_string(),
            sender,
            recipients,
            &RefusalReason::Smtp(refusal),
            reply.to_string().trim_end(),
        );
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
            let peer = self.peer.ip().to_canonical().to_string();
            let what = format!("{}{detail}", failure.description());
            self.record(&peer, "", vec![""], &RefusalReason::Session(failure), &what);
        }
    }

    /// Stores the faults of a message among the refusals if the message is not stored and no reply
    /// shows that.
    fn store_faults(&self, receipt: &Receipt) {
        receipt
            .reply
            .iter()
            .for_each(|action| self.store_disconnection(action));
        if receipt.unstored.is_empty() {
            return;
        }
        for recipient in self.recipients.split(' ') {
            let address = EmailAddress::parse(recipient).ok();
            if let Some(fate) =
                address.and_then(|address| receipt.unstored(&address, &self.context.service))
            {
                let reason = fate.reason();
                self.record(
                    &self.peer.to_string(),
                    &self.sender,
                    vec![recipient],
                    &reason,
                    fate.description(),
                );
            }
        }
    }

    /// Stores a disconnection among the refusals if the message is not stored before.
    fn store_disconnection(&self, action: &FaultAction) {
        if let Some(closing) = action.closing()
            && action.copies() == 0
        {
            let what = closed_on_request(closing);
            let recipients = self.recipients.split(' ').collect();
            let reason = RefusalReason::DisconnectedOnRequest;
            self.record(
                &self.peer.to_string(),
                &self.sender,
                recipients,
                &reason,
                what,
            );
        }
    }

    /// Stores a refusal for each recipient, so that each owner sees only their own.
    fn record(
        &self,
        peer: &str,
        sender: &str,
        recipients: Vec<&str>,
        reason: &RefusalReason,
        reply: &str,
    ) {
        for recipient in recipients {
            let refused = RefusedMail {
                peer: peer.to_owned(),
                sender: sender.to_owned(),
                recipient: recipient.to_owned(),
                inbox: None,
                authenticated: self.caller.is_some(),
                reason: reason.clone(),
                reply: reply.to_owned(),
                refused_at: self.context.clock().now(),
            };
            self.context
                .service
                .record_refusal(refused, self.caller.as_ref().map(|caller| caller.project));
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

/// The result of `work`, or `None` if it takes too long.
async fn within_time_limit<T>(
    alarm: &mut Alarm,
    context: &Context,
    work: impl Future<Output = T>,
) -> Option<T> {
    within(alarm, context, ANSWER_TIMEOUT, work).await
}

/// The result of `work`, or `None` if it takes longer than `time`.
async fn within<T>(
    alarm: &mut Alarm,
    context: &Context,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let deadline = context.clock().instant().after(time);
    tokio::select! {
        biased;
        done = work => Some(done),
        () = alarm.wait_until(deadline) => {
            tracing::error!("the store did not answer in time");
            None
        }
    }
}

/// Replaces `text` with the items, separated by spaces.
fn write_joined<T: Display>(text: &mut String, items: &[T]) {
    text.clear();
    for (index, item) in items.iter().enumerate() {
        let space = if index == 0 { "" } else { " " };
        // Writing into memory cannot fail.
        let _ = write!(text, "{space}{item}");
    }
}
