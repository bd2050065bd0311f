//! The timeline of an inbox: what happened to it, in order, from the tables and from the recorded events.

use restante_api::{Event, EventFilters, EventKind};

use super::{Caller, Service, ServiceError};
use crate::model::{
    ArrivedMail, HeaderFilter, Inbox, InboxEnd, InboxId, SentMail, SmtpSession, Timestamp, WaitEnd, WaitRecord, seconds,
};
use crate::store::StoreError;

/// Maximum number of events of each kind.
const MAX_OF_KIND: usize = 100;

/// An event, and its time for sorting.
type Timed = (Timestamp, Event);

impl Service {
    /// What happened to an inbox, oldest first, and the cursor for what happens later. An inbox that has ended in the
    /// last 30 days still has a timeline. `after` is a cursor.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended more than 30 days ago.
    pub async fn timeline(
        &self,
        caller: &Caller,
        id: &str,
        after: Option<Timestamp>,
    ) -> Result<(Vec<Event>, Timestamp), ServiceError> {
        let (id, now) = (InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?, self.0.clock.now());
        let found = self.0.store.inbox_or_end(caller.project, &id, now).await?;
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        self.0.refusals.written().await;
        let mut events = self.events_of(&inbox, now).await?;
        events.extend(ended.map(of_end));
        events.retain(|(at, _)| after.is_none_or(|after| *at > after));
        let next = events.last().map_or(after.unwrap_or(inbox.created_at), |(at, _)| *at);
        Ok((events.into_iter().map(|(_, event)| event).collect(), next))
    }

    /// What happened to an inbox until then, oldest first.
    pub(super) async fn events_of(&self, inbox: &Inbox, until: Timestamp) -> Result<Vec<Timed>, StoreError> {
        let (store, default) = (&self.0.store, self.0.default_project);
        let created = Event::new(inbox.created_at.to_string(), EventKind::Created, "The inbox was created.".to_owned());
        let mut events = vec![(inbox.created_at, created)];
        events.extend(self.0.event_log.claims_of(inbox).await?.into_iter().map(|at| {
            let text = "A request to create the inbox found that it exists.".to_owned();
            (at, Event::new(at.to_string(), EventKind::Claimed, text))
        }));
        let waits = self.waits_of_inbox(inbox).await?;
        events.extend(waits.open.iter().chain(&waits.ended).flat_map(of_wait));
        let refused = store.refusals_of(inbox.project, &inbox.id, default, inbox.created_at, MAX_OF_KIND).await?;
        let refused = refused.into_iter().filter(|refused| refused.inbox.as_ref() == Some(&inbox.id));
        events.extend(refused.map(|refused| {
            let text = format!("Mail to {} was rejected: {}", refused.recipient_address(), refused.reply);
            let client = Some(refused.client());
            let at = refused.refused_at;
            (at, Event { client, ..Event::new(at.to_string(), EventKind::Refused, text) })
        }));
        events.extend(store.arrived_mail(inbox, MAX_OF_KIND).await?.into_iter().flat_map(of_mail));
        events.extend(store.fault_uses(inbox, MAX_OF_KIND).await?.into_iter().map(|used| {
            let text = format!("The fault {} at {} was used.", used.action, used.point);
            (used.used_at, Event::new(used.used_at.to_string(), EventKind::FaultUsed, text))
        }));
        events.extend(store.sent_mail(inbox, MAX_OF_KIND).await?.into_iter().map(of_sent));
        // A session has the time of its end, so it follows what it caused.
        events.extend(self.0.event_log.sessions_of(inbox, until).await?.into_iter().map(of_session));
        events.retain(|(at, _)| *at <= until);
        // A stable sort, so that events of the same millisecond stay in the order of their kinds.
        events.sort_by_key(|(at, _)| *at);
        Ok(events)
    }
}

fn of_end(end: InboxEnd) -> Timed {
    let (at, kind, text) = match end {
        InboxEnd::Expired(at) => (at, EventKind::Expired, "The inbox expired."),
        InboxEnd::Deleted(at) => (at, EventKind::Deleted, "The inbox was deleted."),
    };
    (at, Event::new(at.to_string(), kind, text.to_owned()))
}

fn of_wait(wait: &WaitRecord) -> Vec<Timed> {
    let has = Some(wait.filter.has.words().join(",")).filter(|has| !has.is_empty());
    let filters = EventFilters {
        subject: wait.filter.subject.clone(),
        from: wait.filter.from.clone(),
        to: wait.filter.to.clone(),
        text: wait.filter.text.clone(),
        header: wait.filter.header.as_ref().map(HeaderFilter::to_string),
        has,
        after: wait.filter.after.clone(),
        timeout: u64::try_from(wait.timeout.as_millis()).unwrap_or(u64::MAX),
    };
    let text = format!("A wait of {} started.", seconds(wait.timeout));
    let started = Event::new(wait.started_at.to_string(), EventKind::WaitStarted, text);
    let mut events = vec![(wait.started_at, Event { filters: Some(filters.clone()), ..started })];
    if let Some((at, end)) = wait.end {
        let (outcome, text) = match end {
            WaitEnd::Message(_) => ("message", "The wait found a message."),
            WaitEnd::Timeout => ("timeout", "The wait timed out."),
            WaitEnd::InboxEnded => ("inbox_ended", "The inbox ended during the wait."),
            WaitEnd::TooMany => ("too_many", "The wait was refused, because the key had too many."),
            WaitEnd::Left => ("cancelled", "The client closed the connection of the wait."),
            WaitEnd::Failed => ("failed", "The wait failed."),
        };
        let message_id = if let WaitEnd::Message(id) = end { Some(id.to_string()) } else { None };
        let is_kept = end == WaitEnd::Timeout && !wait.timeout.is_zero();
        let ended = Event {
            filters: Some(filters),
            outcome: Some(outcome.to_owned()),
            message_id,
            failure: is_kept.then(|| wait.id.to_string()),
            ..Event::new(at.to_string(), EventKind::WaitEnded, text.to_owned())
        };
        events.push((at, ended));
    }
    events
}

fn of_session(session: SmtpSession) -> Timed {
    let last = session.exchanges.iter().rev().map(|exchange| exchange.reply.as_str());
    let rejected = session.exchanges.iter().rev().map(|exchange| exchange.reply.as_str());
    let rejected = rejected.into_iter().find(|reply| reply.starts_with(['4', '5']));
    let told = rejected.or_else(|| last.into_iter().find(|reply| !reply.is_empty())).unwrap_or("no reply");
    let text = format!("An SMTP session of {}: {told}", session.client);
    let event = Event {
        client: Some(session.client),
        tls: session.tls,
        commands: session.exchanges,
        ..Event::new(session.ended_at.to_string(), EventKind::Smtp, text)
    };
    (session.ended_at, event)
}

fn of_mail(mail: ArrivedMail) -> Vec<Timed> {
    let at = mail.received_at;
    let mut events = Vec::new();
    if let Some(via) = mail.via.as_deref().filter(|via| !matches!(*via, "smtp" | "api")) {
        let text = format!("The application called the API of {via}.");
        let client = mail.client.clone();
        events.push((at, Event { client, ..Event::new(at.to_string(), EventKind::SendApi, text) }));
    }
    let code = if mail.code.is_empty() { String::new() } else { format!(", code {}", mail.code) };
    let text = format!("\"{}\" from {} was stored, {} bytes{code}.", mail.subject, mail.from, mail.size);
    let stored = Event {
        message_id: Some(mail.id.to_string()),
        client: mail.client,
        tls: mail.tls,
        ..Event::new(at.to_string(), EventKind::Stored, text)
    };
    events.push((at, stored));
    events
}

fn of_sent(sent: SentMail) -> Timed {
    let at = sent.attempted_at.unwrap_or(sent.created_at);
    let text = match &sent.reply {
        Some(reply) => format!("An attempt to send \"{}\" to {}: {reply}", sent.subject, sent.recipient),
        None => format!("\"{}\" was sent to {}.", sent.subject, sent.recipient),
    };
    (at, Event { outcome: Some(sent.status), ..Event::new(at.to_string(), EventKind::Sent, text) })
}
