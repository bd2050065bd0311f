//! The recorded events of all nodes: waits, claims and failed SMTP sessions. They are written in a
//! separate transaction, to a table that needs no flush.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use restante_api::Exchange;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Change, Store, StoreError};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    Inbox, InboxClaim, InboxId, MessageFilter, MessageId, ProjectId, SharedAddress, SmtpSession,
    Timestamp, WaitEnd, WaitRecord, parse_id,
};

/// Maximum number of events that are kept for each project.
const MAX_EVENTS_KEPT: i64 = 5_000;
/// The kinds of events.
const WAIT: &str = "wait";
const CLAIM: &str = "claimed";
const SESSION: &str = "smtp";

/// A wait as the table has it.
#[derive(Deserialize, Serialize)]
struct StoredWait {
    inbox: String,
    shared: Option<String>,
    filter: MessageFilter,
    timeout_millis: u64,
    message: Option<String>,
}

/// An SMTP session as the table has it.
#[derive(Deserialize, Serialize)]
struct StoredSession {
    named: Vec<String>,
    client: String,
    tls: Option<String>,
    has_failed: bool,
    exchanges: Vec<Exchange>,
}

/// A SELECT of the columns of an event.
macro_rules! events {
    ($conditions:literal) => {
        concat!(
            "SELECT id, project_id, inbox_created_at, started_at, ended_at, outcome, data FROM events WHERE ",
            $conditions
        )
    };
}

impl Store {
    /// Stores waits as they are now, claims, and SMTP sessions with their projects, and announces
    /// them. Of the waits on an inbox that were refused because the key had too many, only the
    /// latest is kept: clients repeat them.
    pub async fn record_events(
        &self,
        waits: &[WaitRecord],
        claims: &[InboxClaim],
        sessions: &[(Arc<SmtpSession>, Option<ProjectId>)],
    ) -> Result<(), StoreError> {
        const RECORD: &str = "
            INSERT INTO events (id, subject, kind, project_id, inbox_created_at, started_at, ended_at, outcome, data)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (id, subject) DO UPDATE SET ended_at = $7, outcome = $8, data = $9";
        const FORGET_REFUSED: &str = "
            DELETE FROM events WHERE subject = $1 AND inbox_created_at = $2 AND outcome = $3 AND id < $4";
        let mut rows: Vec<_> = waits.iter().map(wait_row).collect();
        rows.extend(claims.iter().map(claim_row));
        rows.extend(
            sessions
                .iter()
                .flat_map(|(session, project)| session_rows(session, *project)),
        );
        let too_many = WaitEnd::TooMany;
        let refused = waits
            .iter()
            .filter(|wait| wait.end.is_some_and(|(_, end)| end == too_many));
        let refused: BTreeMap<&str, &WaitRecord> = refused
            .rev()
            .map(|wait| (wait.inbox.as_str(), wait))
            .collect();
        let forget = refused.into_values();
        let forget = forget
            .map(|wait| {
                values![
                    &wait.inbox,
                    wait.inbox_created_at,
                    too_many.as_str(),
                    wait.id
                ]
            })
            .collect();
        let record = async move |mut transaction: Transaction| {
            transaction.execute_many(RECORD, rows).await?;
            transaction.execute_many(FORGET_REFUSED, forget).await?;
            transaction.notify(Change::Events);
            Ok(transaction.commit().await?)
        };
        self.database.transact(record).await
    }

    /// Deletes all but the latest events of each project.
    pub async fn forget_events(&self) -> Result<(), StoreError> {
        const FORGET: &str = "
            DELETE FROM events WHERE id IN (
                SELECT id FROM (
                    SELECT id, ROW_NUMBER() OVER (PARTITION BY project_id ORDER BY id DESC) AS place FROM events
                ) numbered WHERE place > $1)";
        self.change(FORGET, values![MAX_EVENTS_KEPT], None).await?;
        Ok(())
    }

    /// The latest waits on an inbox, open and ended, newest first.
    pub async fn waits_of_inbox(
        &self,
        inbox: &Inbox,
        most: usize,
    ) -> Result<Vec<WaitRecord>, StoreError> {
        const LATEST: &str = events!(
            "subject = $1 AND kind = $2 AND inbox_created_at = $3 AND project_id = $4 ORDER BY id DESC LIMIT $5"
        );
        let parameters = values![&inbox.id, WAIT, inbox.created_at, inbox.project, most];
        let rows = self.database.query(LATEST, parameters).await?;
        rows.into_iter().map(read_wait).collect()
    }

    /// The open waits on inboxes of a project, newest first.
    pub async fn open_waits(
        &self,
        project: ProjectId,
        most: usize,
    ) -> Result<Vec<WaitRecord>, StoreError> {
        const OPEN: &str =
            events!("project_id = $1 AND kind = $2 AND ended_at IS NULL ORDER BY id DESC LIMIT $3");
        let rows = self
            .database
            .query(OPEN, values![project, WAIT, most])
            .await?;
        rows.into_iter().map(read_wait).collect()
    }

    /// When an inbox was claimed, newest first.
    pub async fn claims_of(
        &self,
        inbox: &Inbox,
        most: usize,
    ) -> Result<Vec<Timestamp>, StoreError> {
        const CLAIMS: &str = "
            SELECT started_at FROM events
            WHERE subject = $1 AND kind = $2 AND inbox_created_at = $3 AND project_id = $4 ORDER BY id DESC LIMIT $5";
        let parameters = values![&inbox.id, CLAIM, inbox.created_at, inbox.project, most];
        let rows = self.database.query(CLAIMS, parameters).await?;
        let read = |mut row: Row| Ok(Timestamp::from_millis(row.integer()?));
        Ok(rows
            .into_iter()
            .map(read)
            .collect::<Result<_, DatabaseError>>()?)
    }

    /// The latest failed SMTP sessions of a project that named an inbox and ended until then,
    /// newest first.
    pub async fn sessions_of(
        &self,
        project: ProjectId,
        named: &str,
        until: Timestamp,
        most: usize,
    ) -> Result<Vec<SmtpSession>, StoreError> {
        const LATEST: &str = events!(
            "subject = $1 AND kind = $2 AND ended_at <= $3 AND (project_id IS NULL OR project_id = $4)
             ORDER BY id DESC LIMIT $5"
        );
        let rows = self
            .database
            .query(LATEST, values![named, SESSION, until, project, most])
            .await?;
        rows.into_iter().map(read_session).collect()
    }

    /// The mark of the waits of an inbox, or with `None` of the open waits of a project: a version
    /// that is different after they have changed.
    pub async fn waits_mark(
        &self,
        project: ProjectId,
        inbox: Option<&InboxId>,
    ) -> Result<String, StoreError> {
        const OF_INBOX: &str = "
            SELECT COUNT(*), COUNT(ended_at), COALESCE(MAX(started_at), 0) FROM events
            WHERE project_id = $1 AND subject = $2";
        const OF_PROJECT: &str = "
            SELECT COUNT(*), CAST(0 AS BIGINT), COALESCE(MAX(started_at), 0) FROM events
            WHERE project_id = $1 AND ended_at IS NULL";
        let rows = match inbox {
            Some(inbox) => {
                self.database
                    .query(OF_INBOX, values![project, inbox])
                    .await?
            }
            None => self.database.query(OF_PROJECT, values![project]).await?,
        };
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        Ok(format!(
            "{}-{}-{}",
            row.integer()?,
            row.integer()?,
            row.integer()?
        ))
    }
}

fn wait_row(wait: &WaitRecord) -> Vec<Value> {
    let message = wait.end.and_then(|(_, end)| {
        if let WaitEnd::Message(message) = end {
            Some(message)
        } else {
            None
        }
    });
    let stored = StoredWait {
        inbox: wait.inbox.to_string(),
        shared: wait.shared.as_ref().map(SharedAddress::to_string),
        filter: wait.filter.clone(),
        timeout_millis: u64::try_from(wait.timeout.as_millis()).unwrap_or(u64::MAX),
        message: message.map(|message| message.to_string()),
    };
    values![
        wait.id,
        &wait.inbox,
        WAIT,
        wait.project,
        wait.inbox_created_at,
        wait.started_at,
        wait.end.map(|(at, _)| at),
        wait.end.map(|(_, end)| end.as_str()),
        serde_json::to_string(&stored).expect("its types have a form in JSON"),
    ]
}

fn claim_row(claim: &InboxClaim) -> Vec<Value> {
    let at = claim.at;
    values![
        Uuid::now_v7(),
        &claim.inbox,
        CLAIM,
        claim.project,
        claim.inbox_created_at,
        at,
        at,
        "",
        "{}"
    ]
}

/// A row for each inbox that the session named.
fn session_rows(
    session: &SmtpSession,
    project: Option<ProjectId>,
) -> impl Iterator<Item = Vec<Value>> {
    let stored = StoredSession {
        named: session.named.clone(),
        client: session.client.clone(),
        tls: session.tls.clone(),
        has_failed: session.has_failed,
        exchanges: session.exchanges.clone(),
    };
    let data = serde_json::to_string(&stored).expect("its types have a form in JSON");
    let none: Option<Timestamp> = None;
    session.named.iter().map(move |named| {
        values![
            session.id,
            named.as_str(),
            SESSION,
            project,
            none,
            session.started_at,
            session.ended_at,
            "",
            data.as_str(),
        ]
    })
}

/// The columns of an event before its data.
struct Columns {
    id: Uuid,
    project: Option<ProjectId>,
    inbox_created_at: Timestamp,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    outcome: String,
}

fn read_columns(row: &mut Row) -> Result<(Columns, String), DatabaseError> {
    let columns = Columns {
        id: row.uuid()?,
        project: row
            .optional_bytes()?
            .and_then(|id| Uuid::from_slice(&id).ok())
            .map(ProjectId),
        inbox_created_at: Timestamp::from_millis(row.optional_integer()?.unwrap_or_default()),
        started_at: Timestamp::from_millis(row.integer()?),
        ended_at: row.optional_integer()?.map(Timestamp::from_millis),
        outcome: row.optional_text()?.unwrap_or_default(),
    };
    Ok((columns, row.text()?))
}

fn read_wait(mut row: Row) -> Result<WaitRecord, StoreError> {
    let (columns, data) = read_columns(&mut row)?;
    let stored: StoredWait =
        serde_json::from_str(&data).map_err(|_| StoreError::Damaged("a recorded wait"))?;
    let message = stored
        .message
        .and_then(|id| parse_id(&id).ok())
        .map(MessageId);
    Ok(WaitRecord {
        id: columns.id,
        project: columns.project.unwrap_or(ProjectId(Uuid::nil())),
        inbox: InboxId::from_stored(stored.inbox),
        shared: stored.shared.map(SharedAddress::from_stored),
        inbox_created_at: columns.inbox_created_at,
        filter: stored.filter,
        started_at: columns.started_at,
        timeout: Duration::from_millis(stored.timeout_millis),
        end: columns
            .ended_at
            .map(|at| (at, WaitEnd::of_word(&columns.outcome, message))),
    })
}

fn read_session(mut row: Row) -> Result<SmtpSession, StoreError> {
    let (columns, data) = read_columns(&mut row)?;
    let stored: StoredSession =
        serde_json::from_str(&data).map_err(|_| StoreError::Damaged("a recorded SMTP session"))?;
    Ok(SmtpSession {
        id: columns.id,
        named: stored.named,
        project: columns.project,
        client: stored.client,
        tls: stored.tls,
        has_failed: stored.has_failed,
        started_at: columns.started_at,
        ended_at: columns.ended_at.unwrap_or(columns.started_at),
        exchanges: stored.exchanges,
    })
}
