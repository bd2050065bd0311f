//! What the tables and the journal know of the past of an inbox, for its timeline.

use restante_api::{Event, EventKind};

use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::evidence::event::{self, event};
use crate::model::{Inbox, InboxClaim, MessageId, RefusedMail, Timestamp};

impl Store {
    /// What happened to an inbox until then, without waits and SMTP sessions: at most `most` events
    /// of each kind.
    pub async fn past_of(
        &self,
        inbox: &Inbox,
        until: Timestamp,
        most: usize,
    ) -> Result<Vec<Event>, StoreError> {
        const ARRIVED: &str = "
            SELECT m.id, m.sender, m.subject, m.code, m.raw_size, m.received_at, c.via, c.client, c.tls
            FROM inboxes i JOIN messages m ON m.inbox_number = i.number AND m.sequence > i.emptied_sequence
            JOIN contents c ON c.number = m.content_number
            WHERE i.project_id = $1 AND i.id = $2 AND i.created_at = $3 AND m.received_at <= $4
            ORDER BY m.sequence DESC LIMIT $5";
        const FAULTS_USED: &str = "
            SELECT f.point, f.action, u.used_at
            FROM inboxes i JOIN faults f ON f.inbox_number = i.number JOIN fault_uses u ON u.fault_number = f.number
            WHERE i.project_id = $1 AND i.id = $2 AND u.used_at >= $3 AND u.used_at <= $4
            ORDER BY u.number DESC LIMIT $5";
        // A message with a later attempt was still in the queue.
        const SENT: &str = "
            SELECT o.recipient, o.subject,
                CASE WHEN EXISTS (SELECT 1 FROM attempts l WHERE l.outgoing_id = o.id AND l.attempted_at > $4)
                    THEN 'queued' ELSE o.status END,
                o.created_at, a.attempted_at, a.reply
            FROM outgoing o LEFT JOIN attempts a ON a.outgoing_id = o.id AND a.attempted_at <= $4
            WHERE o.project_id = $1 AND o.inbox_id = $2 AND o.created_at >= $3 AND o.created_at <= $4
            AND o.is_report = 0 ORDER BY o.id DESC, a.attempt DESC LIMIT $5";
        let times = (inbox.created_at, until);
        let claims = self.about::<InboxClaim>(inbox, times, most).await?;
        let refused = self.about::<RefusedMail>(inbox, times, most).await?;
        let parameters = || values![inbox.project, &inbox.id, inbox.created_at, until, most];
        let arrived = self.all(ARRIVED, parameters(), arrived).await?;
        let faults = self.all(FAULTS_USED, parameters(), fault_used).await?;
        let sent = self.all(SENT, parameters(), sent).await?;
        let mut events = vec![event::created(inbox)];
        events.extend(claims.iter().map(event::claimed));
        events.extend(refused.iter().map(event::refused));
        events.extend(arrived.into_iter().flatten());
        events.extend(faults.into_iter().chain(sent));
        Ok(events)
    }
}

/// A message that was stored, and the call of the API of a provider by which it arrived.
fn arrived(row: &mut Row) -> Result<Vec<Event>, DatabaseError> {
    let id: MessageId = row.get()?;
    let from: String = row.get()?;
    let subject: String = row.get()?;
    let code = match &*row.get::<String>()? {
        "" => String::new(),
        code => format!(", code {code}"),
    };
    let size: i64 = row.get()?;
    let at = row.get()?;
    let via: Option<String> = row.get()?;
    let client: Option<String> = row.get()?;
    let via = via.filter(|via| !matches!(&**via, "smtp" | "api"));
    let called = via.map(|via| Event {
        client: client.clone(),
        ..event(
            at,
            EventKind::SendApi,
            format!("The application called the API of {via}."),
        )
    });
    let text = format!("\"{subject}\" from {from} was stored, {size} bytes{code}.");
    let stored = Event {
        message_id: Some(id.to_string()),
        client,
        tls: row.get()?,
        ..event(at, EventKind::Stored, text)
    };
    Ok(called.into_iter().chain([stored]).collect())
}

fn fault_used(row: &mut Row) -> Result<Event, DatabaseError> {
    let point: String = row.get()?;
    let action: String = row.get()?;
    let text = format!("The fault {action} at {point} was used.");
    Ok(event(row.get()?, EventKind::FaultUsed, text))
}

/// A message that was sent, or an attempt to send one.
fn sent(row: &mut Row) -> Result<Event, DatabaseError> {
    let recipient: String = row.get()?;
    let subject: String = row.get()?;
    let status = row.get()?;
    let created_at = row.get()?;
    let at = row.get::<Option<_>>()?.unwrap_or(created_at);
    let text = match row.get::<Option<String>>()? {
        Some(reply) => format!("An attempt to send \"{subject}\" to {recipient}: {reply}"),
        None => format!("\"{subject}\" was sent to {recipient}."),
    };
    Ok(Event {
        outcome: Some(status),
        ..event(at, EventKind::Sent, text)
    })
}
