//! What happened to an inbox as events of its timeline, each with a sentence.

use restante_api::{Event, EventFilters, EventKind};

use crate::model::{
    HeaderFilter, Inbox, InboxClaim, InboxEnd, RefusedMail, SmtpSession, Timestamp, WaitEnd,
    WaitRecord, spoken,
};

/// An event without details.
#[must_use]
pub fn event(at: Timestamp, kind: EventKind, text: impl Into<String>) -> Event {
    Event::new(at.to_string(), kind, text.into())
}

/// Sorts events by their time. Of the same millisecond, what causes something comes before it.
pub fn sort(events: &mut [Event]) {
    let place = |event: &Event| match event.kind {
        EventKind::Created | EventKind::Claimed => 0,
        EventKind::WaitStarted => 1,
        EventKind::SendApi | EventKind::FaultUsed => 2,
        EventKind::Refused | EventKind::Stored | EventKind::Sent => 3,
        EventKind::Smtp => 4,
        EventKind::Expired | EventKind::Deleted => 5,
        EventKind::WaitEnded => 6,
    };
    // The texts of times have the order of the times.
    events.sort_by(|one, other| (&one.at, place(one)).cmp(&(&other.at, place(other))));
}

#[must_use]
pub fn created(inbox: &Inbox) -> Event {
    event(
        inbox.created_at,
        EventKind::Created,
        "The inbox was created.",
    )
}

#[must_use]
pub fn claimed(claim: &InboxClaim) -> Event {
    let text = "A request to create the inbox found that it exists.";
    event(claim.at, EventKind::Claimed, text)
}

#[must_use]
pub fn ended(end: InboxEnd) -> Event {
    match end {
        InboxEnd::Expired(at) => event(at, EventKind::Expired, "The inbox expired."),
        InboxEnd::Deleted(at) => event(at, EventKind::Deleted, "The inbox was deleted."),
    }
}

#[must_use]
pub fn refused(refused: &RefusedMail) -> Event {
    let recipient = refused.recipient_address();
    let outcome = refused.reason.outcome();
    let text = format!("Mail to {recipient} was {outcome}: {}", refused.reply);
    Event {
        client: Some(refused.client()),
        ..event(refused.refused_at, EventKind::Refused, text)
    }
}

/// The start of a wait, and its end if it has one.
pub fn wait(wait: &WaitRecord) -> impl Iterator<Item = Event> {
    let text = format!("A wait of {} started.", spoken(wait.timeout));
    let started = Event {
        filters: Some(filters(wait)),
        ..event(wait.started_at, EventKind::WaitStarted, text)
    };
    let ended = wait.end.map(|(at, end)| {
        let (outcome, text) = outcome(end);
        let is_kept = end.is_failure() && !wait.timeout.is_zero();
        Event {
            filters: Some(filters(wait)),
            outcome: Some(outcome.to_owned()),
            message_id: end.message().map(|id| id.to_string()),
            failure: is_kept.then(|| wait.id.to_string()),
            ..event(at, EventKind::WaitEnded, text)
        }
    });
    [started].into_iter().chain(ended)
}

fn filters(wait: &WaitRecord) -> EventFilters {
    let filter = &wait.filter;
    EventFilters {
        subject: filter.subject.clone(),
        from: filter.from.clone(),
        to: filter.to.clone(),
        text: filter.text.clone(),
        header: filter.header.as_ref().map(HeaderFilter::to_string),
        has: Some(filter.has.words().join(",")).filter(|has| !has.is_empty()),
        after: filter.after.clone(),
        client: filter.client.clone(),
        timeout: u64::try_from(wait.timeout.as_millis()).unwrap_or(u64::MAX),
    }
}

fn outcome(end: WaitEnd) -> (&'static str, &'static str) {
    match end {
        WaitEnd::Message(_) => ("message", "The wait found a message."),
        WaitEnd::Unexpected(_) => {
            let text = "A message was found, although none was expected.";
            ("message", text)
        }
        WaitEnd::Timeout => ("timeout", "The wait timed out."),
        WaitEnd::Empty => ("empty", "No message arrived, as expected."),
        WaitEnd::InboxEnded => ("inbox_ended", "The inbox ended during the wait."),
        WaitEnd::TooMany => {
            let text = "The wait was refused, because the key had too many.";
            ("too_many", text)
        }
        WaitEnd::Left => ("cancelled", "The client closed the connection of the wait."),
        WaitEnd::Failed => ("failed", "The wait failed."),
    }
}

/// A session has the time of its end, so it follows what it caused.
#[must_use]
pub fn session(session: SmtpSession) -> Event {
    let exchanges = session.exchanges.iter().rev();
    let replies = exchanges.map(|exchange| &*exchange.reply);
    let rejection = replies.clone().find(|reply| reply.starts_with(['4', '5']));
    let told = rejection.or_else(|| replies.clone().find(|reply| !reply.is_empty()));
    let told = told.unwrap_or("no reply");
    let text = format!("An SMTP session of {}: {told}", session.client);
    let event = event(session.ended_at, EventKind::Smtp, text);
    Event {
        client: Some(session.client),
        tls: session.tls,
        commands: session.exchanges,
        ..event
    }
}
