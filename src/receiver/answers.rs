//! Puts the session's questions to the service, and writes the log: one line for each message, taken or refused, and
//! for each refused sender or recipient. Never a body, a code or a key.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::Context;
use super::arrival::Arrival;
use super::listener::Slot;
use super::trace::Trace;
use crate::metrics;
use crate::model::{EmailAddress, MessageId, ProjectId, RefusedMail};
use crate::service::{DeliverError, Incoming, prepare};
use restante_smtp::{Credentials, Envelope, Event, Refusal, Reply, Session};

/// How long the client waits for the service before it is told to try again later.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers the questions of one session.
pub(super) struct Answers {
    peer: SocketAddr,
    slot: Arc<Slot>,
    context: Arc<Context>,
    /// A delivery that took longer than the client was kept waiting.
    unfinished: Option<JoinHandle<()>>,
    /// Whose key the client authenticated with, and whom its message under way is from and to, for the refusals.
    project: Option<ProjectId>,
    sender_path: String,
    recipient: String,
}

impl Answers {
    pub(super) fn new(peer: SocketAddr, slot: Slot, context: Arc<Context>) -> Self {
        Self {
            peer,
            slot: Arc::new(slot),
            context,
            unfinished: None,
            project: None,
            sender_path: String::new(),
            recipient: String::new(),
        }
    }

    /// Answers `event` if it wants an answer. `arrival` is the account of the message that has just come.
    pub(super) async fn answer(&mut self, session: &mut Session, event: Event, arrival: Option<Arrival>) {
        self.follow(&event);
        match event {
            Event::Authenticate(credentials) => {
                let project = self.authenticate(&credentials).await;
                self.project = project.ok();
                session.authenticated(project.map(drop));
            }
            Event::Sender(_) => session.sender(self.sender().await),
            Event::Recipient(address) => session.recipient(self.recipient(&address).await),
            Event::Deliver(envelope, raw) => session.delivered(self.deliver(envelope, raw, arrival).await),
            Event::Refused { envelope, size, refusal } => self.log_message(&envelope, size, &Err(refusal)),
            Event::NeedInput | Event::Send(_) | Event::StartTls | Event::Close => {}
        }
    }

    /// The password is an API key; the user name says nothing.
    async fn authenticate(&self, credentials: &Credentials) -> Result<ProjectId, Refusal> {
        match self.within_patience(self.context.service.authenticate(&credentials.password)).await {
            Some(Ok(Some(caller))) => Ok(caller.project),
            Some(Ok(None)) => Err(Refusal::AuthenticationFailed),
            Some(Err(error)) => {
                tracing::error!(peer = %self.peer, %error, "cannot check a key");
                Err(Refusal::AuthenticationUnavailable)
            }
            None => Err(Refusal::AuthenticationUnavailable),
        }
    }

    async fn sender(&self) -> Result<(), Refusal> {
        if self.unfinished.as_ref().is_some_and(|delivery| !delivery.is_finished()) {
            return Err(Refusal::StoreFailure);
        }
        match self.within_patience(self.context.disk.is_full()).await {
            Some(false) => Ok(()),
            Some(true) => Err(Refusal::DiskShort),
            None => Err(Refusal::StoreFailure),
        }
    }

    async fn recipient(&self, address: &EmailAddress) -> Result<(), Refusal> {
        match self.within_patience(self.context.service.accept_recipient(address)).await {
            Some(outcome) => outcome.map_err(|error| self.refusal(&error)),
            None => Err(Refusal::StoreFailure),
        }
    }

    async fn deliver(
        &mut self,
        envelope: Envelope,
        raw: Vec<u8>,
        arrival: Option<Arrival>,
    ) -> Result<Vec<MessageId>, Refusal> {
        let size = raw.len() as u64;
        let mut delivery = Box::pin(self.delivery(&envelope, raw, arrival));
        let begun = Instant::now();
        let outcome = match self.within_patience(&mut delivery).await {
            Some(delivered) => delivered.map_err(|error| self.refusal(&error)),
            None => {
                self.unfinished = Some(self.go_on_with(delivery));
                Err(Refusal::StoreFailure)
            }
        };
        if outcome.is_ok() {
            metrics::message_stored(size, begun.elapsed());
        }
        self.log_message(&envelope, size, &outcome);
        outcome
    }

    /// A delivery that needs nobody to be completed. It holds the message's memory and the connection's slot to its end,
    /// so that clients who try again at a store that hangs take no more than all connections together may.
    fn delivery(
        &self,
        envelope: &Envelope,
        raw: Vec<u8>,
        arrival: Option<Arrival>,
    ) -> impl Future<Output = Result<Vec<MessageId>, DeliverError>> + Send + use<> {
        let (service, memory) = (self.context.service.clone(), Arc::clone(&self.context.memory));
        let incoming = self.incoming(envelope, raw);
        let held = (arrival.map(Arrival::into_share), Arc::clone(&self.slot));
        async move {
            let workspace = memory.workspace(incoming.raw.len()).await;
            let prepared = prepare(incoming).await;
            // The next large message is read while this one is written.
            drop(workspace);
            let delivered = service.store(prepared?).await;
            drop(held);
            delivered
        }
    }

    /// Lets a delivery go on by itself, because a store that hangs must not keep the client waiting for ever. If it commits
    /// after the client was told to try again, the client's next try stores the message twice, which is allowed; losing
    /// it is not.
    fn go_on_with<D: Future<Output: Send> + Send + 'static>(&self, delivery: D) -> JoinHandle<()> {
        let delivery = self.context.end.clone().run_until_cancelled_owned(delivery);
        self.context.tasks.spawn(async move { drop(delivery.await) })
    }

    fn incoming(&self, envelope: &Envelope, raw: Vec<u8>) -> Incoming {
        let service = &self.context.service;
        let trace = Trace {
            envelope,
            peer: self.peer.ip(),
            mail_domain: service.mail_domain(),
            received_at: service.clock().now(),
        };
        Incoming {
            reverse_path: EmailAddress::parse(envelope.reverse_path.as_str()).ok(),
            recipients: envelope.recipients.clone(),
            project: self.project.filter(|_| envelope.authenticated),
            trace: trace.to_string(),
            raw,
        }
    }

    async fn within_patience<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.context.service.clock().sleep(PATIENCE) => {
                tracing::error!(peer = %self.peer, "the store did not answer in time");
                None
            }
        }
    }

    fn refusal(&self, error: &DeliverError) -> Refusal {
        match error {
            DeliverError::InboxFull(_) => Refusal::InboxFull,
            DeliverError::Disabled(_) => Refusal::MailboxDisabled,
            // Not a 421, which ends the session: the driver sends that one.
            DeliverError::Stopping
            | DeliverError::LeaseLost
            | DeliverError::NoInbox(_)
            | DeliverError::InboxBusy(_)
            | DeliverError::Unavailable => Refusal::StoreFailure,
            DeliverError::Store(error) => {
                tracing::error!(peer = %self.peer, %error, "the store failed");
                Refusal::StoreFailure
            }
        }
    }

    fn log_message(&self, envelope: &Envelope, size: u64, outcome: &Result<Vec<MessageId>, Refusal>) {
        let (peer, from, to) = (self.peer, &envelope.reverse_path, &envelope.recipients);
        match outcome {
            Ok(ids) => {
                tracing::info!(%peer, %from, to = joined(to), size, outcome = "stored", ids = joined(ids), "message");
            }
            Err(refusal) => {
                metrics::message_refused(refusal.label());
                tracing::info!(%peer, %from, to = joined(to), size, outcome = refusal.label(), "message");
            }
        }
    }

    /// Logs a reply that refuses a sender or a recipient, and keeps every one that refuses something.
    pub(super) fn log_refusal(&self, reply: &Reply) {
        if let Some(refusal) = reply.refusal() {
            self.keep_refusal(refusal, reply);
        }
        if let (Some(refusal), Some(path)) = (reply.refusal(), reply.path()) {
            metrics::refused(refusal.label());
            if self.context.refusal_log.admits(self.peer.ip()) {
                tracing::info!(peer = %self.peer, path, outcome = refusal.label(), "path refused");
            }
        }
    }
}

impl Answers {
    /// Remembers whom the session's messages are from and to.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Sender(reverse_path) => self.sender_path = reverse_path.to_string(),
            Event::Recipient(address) => self.recipient = address.to_string(),
            Event::Refused { envelope, .. } | Event::Deliver(envelope, _) => {
                self.recipient = joined(&envelope.recipients);
            }
            _ => {}
        }
    }

    fn keep_refusal(&self, refusal: Refusal, reply: &Reply) {
        let refuses_sender = matches!(refusal, Refusal::BadSender | Refusal::MessageTooLarge) && reply.path().is_some();
        let path = reply.path().unwrap_or_default();
        let (sender, recipient) = match path {
            "" => (self.sender_path.as_str(), self.recipient.as_str()),
            path if refuses_sender => (path, ""),
            path => (self.sender_path.as_str(), path),
        };
        let refused = RefusedMail {
            peer: self.peer.to_string(),
            sender: sender.to_owned(),
            recipient: recipient.to_owned(),
            reason: refusal.label().to_owned(),
            reply: reply.to_string().trim_end().to_owned(),
            refused_at: self.context.service.clock().now(),
        };
        self.context.service.record_refusal(refused, self.project);
    }
}

fn joined<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
