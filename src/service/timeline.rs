//! The timeline of an inbox: what happened to it, in order, from the tables and from the recorded
//! events.

use restante_api::{Event, EventFilters, EventKind};

use super::event_cursor::EventCursor;
use super::journal::Waits;
use super::{Caller, Service, ServiceError};
use crate::model::{
    ArrivedMail, HeaderFilter, Inbox, InboxEnd, InboxId, ProjectId, RefusalFilter, RefusedMail,
    SentMail, SmtpSession, Timestamp, WaitEnd, WaitRecord, spoken,
};
use crate::store::StoreError;

/// Maximum number of events of each kind.
const MAX_OF_KIND: usize = 100;

/// An event, and its time for sorting.
type Timed = (Timestamp, Event);

impl Service {
    /// What happened to an inbox, oldest first, and the cursor for what happens later. An inbox
    /// that has ended in the last 30 days still has a timeline. `after` is the cursor of an earlier
    /// answer.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended
    /// more than 30 days ago.
    pub async fn timeline(
        &self,
        caller: &Caller,
        id: &str,
        after: Option<&EventCursor>,
    ) -> Result<(Vec<Event>, EventCursor), ServiceError> {
        let id = InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?;
        let now = self.0.clock.now();
        let found = self.0.store.inbox_or_end(caller.project, &id, now).await?;
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        self.0.journal.written(Some(caller.project)).await;
        let waits = self.recorded_waits(&inbox).await?;
        let events = self.events_of((&inbox, ended), &waits, now).await?;
        Ok(EventCursor::advance(after, events, now))
    }

    /// The rejections of mail to an address that is no inbox of the project, oldest first. `name`
    /// is the address, or the id that an inbox with it would have. If its domain is not accepted,
    /// no project can have the address, and the sessions that named it are there too.
    pub async fn rejections_of(
        &self,
        project: ProjectId,
        name: &str,
    ) -> Result<Vec<Event>, StoreError> {
        self.0.journal.written(Some(project)).await;
        let filter = RefusalFilter {
            project: Some(project),
            text: name.to_owned(),
            ..RefusalFilter::default()
        };
        let mut refused = self.find_refusals(&filter, MAX_OF_KIND).await?;
        refused.retain(|(_, refused)| {
            refused.recipient_address().eq_ignore_ascii_case(name)
                || refused
                    .inbox
                    .as_ref()
                    .is_some_and(|inbox| inbox.as_str() == name)
        });
        let has_anonymous = refused.iter().any(|(_, refused)| !refused.authenticated);
        let is_foreign = refused
            .iter()
            .any(|(_, refused)| refused.foreign_domain().is_some());
        let mut events: Vec<Timed> = refused
            .iter()
            .map(|(_, refused)| of_refusal(refused))
            .collect();
        if is_foreign {
            let named = name.to_ascii_lowercase();
            let now = self.0.clock.now();
            let mut sessions = self.sessions_named(project, &named, now).await?;
            sessions.retain(|session| {
                session
                    .project
                    .map_or(has_anonymous, |other| other == project)
            });
            events.extend(sessions.into_iter().map(of_session));
        }
        events.sort_by_key(|(at, _)| *at);
        Ok(events.into_iter().map(|(_, event)| event).collect())
    }

    /// What happened to an inbox until then, oldest first.
    pub(super) async fn events_of(
        &self,
        (inbox, ended): (&Inbox, Option<InboxEnd>),
        waits: &Waits,
        until: Timestamp,
    ) -> Result<Vec<Timed>, StoreError> {
        let store = &self.0.store;
        let created = Event::new(
            inbox.created_at.to_string(),
            EventKind::Created,
            "The inbox was created.".to_owned(),
        );
        let mut events = vec![(inbox.created_at, created)];
        events.extend(self.claims_of(inbox).await?.into_iter().map(|at| {
            let text = "A request to create the inbox found that it exists.".to_owned();
            (at, Event::new(at.to_string(), EventKind::Claimed, text))
        }));
        events.extend(waits.open.iter().chain(&waits.ended).flat_map(of_wait));
        let times = (inbox.created_at, until);
        let refused: Vec<RefusedMail> = store
            .recorded_about(inbox.project, inbox.id.as_str(), times, MAX_OF_KIND)
            .await?;
        let refused = refused.into_iter();
        events.extend(refused.map(|refused| of_refusal(&refused)));
        events.extend(
            store
                .arrived_mail(inbox, until, MAX_OF_KIND)
                .await?
                .into_iter()
                .flat_map(of_mail),
        );
        events.extend(
            store
                .fault_uses(inbox, until, MAX_OF_KIND)
                .await?
                .into_iter()
                .map(|used| {
                    let text = format!("The fault {} at {} was used.", used.action, used.point);
                    (
                        used.used_at,
                        Event::new(used.used_at.to_string(), EventKind::FaultUsed, text),
                    )
                }),
        );
        events.extend(
            store
                .sent_mail(inbox, until, MAX_OF_KIND)
                .await?
                .into_iter()
                .map(of_sent),
        );
        // A session has the time of its end, so it follows what it caused.
        events.extend(
            self.sessions_of(inbox, until)
                .await?
                .into_iter()
                .map(of_session),
        );
        events.extend(ended.map(of_end));
        events.retain(|(at, _)| *at <= until);
        in_order(&mut events);
        Ok(events)
    }
}

/// Sorts events by their time. Of the same millisecond, what causes something comes before it.
fn in_order(events: &mut [Timed]) {
    events.sort_by_key(|(at, event)| {
        let place = match event.kind {
            EventKind::Created | EventKind::Claimed => 0,
            EventKind::WaitStarted => 1,
            EventKind::SendApi | EventKind::FaultUsed => 2,
            EventKind::Refused | EventKind::Stored | EventKind::Sent => 3,
            EventKind::Smtp => 4,
            EventKind::Expired | EventKind::Deleted => 5,
            EventKind::WaitEnded => 6,
        };
        (*at, place)
    });
}

fn of_end(end: InboxEnd) -> Timed {
    let (at, kind, text) = match end {
        InboxEnd::Expired(at) => (at, EventKind::Expired, "The inbox expired."),
        InboxEnd::Deleted(at) => (at, EventKind::Deleted, "The inbox was deleted."),
    };
    (at, Event::new(at.to_string(), kind, text.to_owned()))
}

fn of_refusal(refused: &RefusedMail) -> Timed {
    let at = refused.refused_at;
    let client = Some(refused.client());
    let text = format!(
        "Mail to {} was {}: {}",
        refused.recipient_address(),
        refused.reason.outcome(),
        refused.reply
    );
    (
        at,
        Event {
            client,
            ..Event::new(at.to_string(), EventKind::Refused, text)
        },
    )
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
        client: wait.filter.client.clone(),
        timeout: u64::try_from(wait.timeout.as_millis()).unwrap_or(u64::MAX),
    };
    let text = format!("A wait of {} started.", spoken(wait.timeout));
    let started = Event::new(wait.started_at.to_string(), EventKind::WaitStarted, text);
    let mut events = vec![(
        wait.started_at,
        Event {
            filters: Some(filters.clone()),
            ..started
        },
    )];
    if let Some((at, end)) = wait.end {
        let (outcome, text) = match end {
            WaitEnd::Message(_) => ("message", "The wait found a message."),
            WaitEnd::Unexpected(_) => (
                "message",
                "A message was found, although none was expected.",
            ),
            WaitEnd::Timeout => ("timeout", "The wait timed out."),
            WaitEnd::Empty => ("empty", "No message arrived, as expected."),
            WaitEnd::InboxEnded => ("inbox_ended", "The inbox ended during the wait."),
            WaitEnd::TooMany => (
                "too_many",
                "The wait was refused, because the key had too many.",
            ),
            WaitEnd::Left => ("cancelled", "The client closed the connection of the wait."),
            WaitEnd::Failed => ("failed", "The wait failed."),
        };
        let is_kept = end.is_failure() && !wait.timeout.is_zero();
        let ended = Event {
            filters: Some(filters),
            outcome: Some(outcome.to_owned()),
            message_id: end.message().map(|id| id.to_string()),
            failure: is_kept.then(|| wait.id.to_string()),
            ..Event::new(at.to_string(), EventKind::WaitEnded, text.to_owned())
        };
        events.push((at, ended));
    }
    events
}

fn of_session(session: SmtpSession) -> Timed {
    let replies = || {
        session
            .exchanges
            .iter()
            .rev()
            .map(|exchange| &*exchange.reply)
    };
    let told = replies()
        .find(|reply| reply.starts_with(['4', '5']))
        .or_else(|| replies().find(|reply| !reply.is_empty()))
        .unwrap_or("no reply");
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
    if let Some(via) = mail
        .via
        .as_deref()
        .filter(|via| !matches!(*via, "smtp" | "api"))
    {
        let text = format!("The application called the API of {via}.");
        let client = mail.client.clone();
        events.push((
            at,
            Event {
                client,
                ..Event::new(at.to_string(), EventKind::SendApi, text)
            },
        ));
    }
    let code = if mail.code.is_empty() {
        String::new()
    } else {
        format!(", code {}", mail.code)
    };
    let text = format!(
        "\"{}\" from {} was stored, {} bytes{code}.",
        mail.subject, mail.from, mail.size
    );
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
        Some(reply) => format!(
            "An attempt to send \"{}\" to {}: {reply}",
            sent.subject, sent.recipient
        ),
        None => format!("\"{}\" was sent to {}.", sent.subject, sent.recipient),
    };
    (
        at,
        Event {
            outcome: Some(sent.status),
            ..Event::new(at.to_string(), EventKind::Sent, text)
        },
    )
}
