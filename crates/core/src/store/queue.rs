//! The queue of the mail workers: due items, leases, and results of attempts.
//!
//! A worker claims an item with a lease. The same statement counts the attempt and schedules the
//! next one, so that both are on stable storage before anything is sent. The result is written only
//! if the worker still has the lease for that attempt. A worker renews only the leases of its
//! running attempts: if a claim was committed but the answer was lost, the lease expires and the
//! item can be claimed again.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::attempts;
use super::content::{decompress, unpack};
use super::outgoing::{REMOVE_CHUNKS_OF_OUTGOING, item_columns, read_item};
use super::{Change, Store, StoreError, until_undisturbed};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{Outgoing, OutgoingId, OutgoingStatus, ProjectId, Timestamp, WorkerId};

/// The queued items of a project to one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainQueue {
    /// The project that sends them.
    pub project: ProjectId,
    /// The domain of their recipients.
    pub domain: String,
    /// How many are due and not leased.
    pub due: usize,
    /// Since when the first of these is due.
    pub due_since: Option<Timestamp>,
    /// When the next of the others becomes due, or its lease expires.
    pub next: Option<Timestamp>,
}

/// An item that is due and not leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub id: OutgoingId,
    /// The number of attempts so far.
    pub attempts: u32,
}

/// A request of a worker to lease an item.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub id: OutgoingId,
    /// When the next attempt is due if this one never reports a result.
    pub next_due: Timestamp,
}

/// An item that a worker has claimed.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The item; its attempts include this one.
    pub item: Outgoing,
    /// Bytes of the composed message, which [`Store::outgoing_piece`] reads.
    pub size: usize,
}

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub id: OutgoingId,
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
    /// The new status of the item.
    pub status: OutgoingStatus,
    /// When the next attempt is due; only if it stays queued.
    pub due_at: Option<Timestamp>,
    /// The server to which the attempt was made.
    pub server: Option<String>,
    /// The server's reply or the error, on one line.
    pub reply: String,
}

impl Store {
    /// The queue: what each project has for each domain.
    pub async fn domain_queues(&self, now: Timestamp) -> Result<Vec<DomainQueue>, StoreError> {
        const QUEUES: &str = "
            SELECT project_id, domain, SUM(CASE WHEN free_at <= $1 THEN 1 ELSE 0 END),
                MIN(CASE WHEN free_at <= $1 THEN due_at END), MIN(CASE WHEN free_at > $1 THEN free_at END)
            FROM (
                SELECT project_id, domain, due_at,
                    CASE WHEN leased_until > due_at THEN leased_until ELSE due_at END AS free_at
                FROM outgoing WHERE status = 'queued'
            ) AS queued GROUP BY project_id, domain";
        let read = |row: &mut Row| {
            Ok(DomainQueue {
                project: row.get()?,
                domain: row.get()?,
                due: row.get()?,
                due_since: row.get()?,
                next: row.get()?,
            })
        };
        self.all(QUEUES, values![now], read).await
    }

    /// The items of each of these queues that are due and not leased: those that have been due
    /// longest, at most `limit`.
    pub async fn due_outgoing(
        &self,
        queues: &[DomainQueue],
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Vec<Due>>, StoreError> {
        const DUE: &str = "
            SELECT id, attempts FROM outgoing
            WHERE project_id = $1 AND domain = $2 AND status = 'queued' AND due_at <= $3
                AND (leased_until IS NULL OR leased_until <= $3)
            ORDER BY due_at, id LIMIT $4";
        let parameters =
            |queue: &DomainQueue| values![queue.project, queue.domain.as_str(), now, limit];
        let parameters = queues.iter().map(parameters).collect();
        let read = async move |mut transaction: Transaction| {
            let queues = transaction.query_many(DUE, parameters).await?;
            transaction.commit().await?;
            Ok::<_, DatabaseError>(queues)
        };
        let queues = self.database.transact(read).await?;
        let queues = queues.into_iter().map(|rows| Row::all(rows, read_due));
        Ok(queues.collect::<Result<_, _>>()?)
    }

    /// Leases those of `claims` that are still due and not leased until `leased_until`, and counts
    /// an attempt of each. When this returns, all of it is on stable storage.
    ///
    /// # Errors
    /// If the database fails; then no item is claimed.
    pub async fn claim_outgoing(
        &self,
        worker: WorkerId,
        mut claims: Vec<Claim>,
        leased_until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        // All workers use the same order, so that they cannot deadlock.
        claims.sort_by_key(|claim| claim.id);
        const CLAIM: &str = concat!(
            "UPDATE outgoing
             SET attempts = attempts + 1, attempted_at = $2, due_at = $3, worker = $4, leased_until = $5
             WHERE id = $1 AND status = 'queued' AND due_at <= $2
                AND (worker IS NULL OR leased_until <= $2)
             RETURNING ",
            item_columns!(),
            ", raw_size"
        );
        let rows = until_undisturbed(|| {
            let claim =
                |claim: &Claim| values![claim.id, now, claim.next_due, worker, leased_until];
            let parameters = claims.iter().map(claim).collect();
            self.transact(async move |mut transaction: Transaction| {
                let rows = transaction.query_many(CLAIM, parameters).await?;
                transaction.commit().await?;
                Ok(rows)
            })
        });
        let claimed = |row: &mut Row| {
            Ok(Claimed {
                item: read_item(row)?,
                size: row.get()?,
            })
        };
        let rows = rows.await?.into_iter().flatten().collect();
        Ok(Row::all(rows, claimed)?)
    }

    /// A piece of the message of a queued item; `None` if the message was removed, or has no such
    /// piece.
    pub async fn outgoing_piece(
        &self,
        id: OutgoingId,
        position: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const PIECE: &str =
            "SELECT data FROM outgoing_chunks WHERE outgoing_id = $1 AND position = $2";
        let parameters = values![id, position];
        match self.all(PIECE, parameters, Row::get).await?.pop() {
            Some(piece) => unpack(piece, decompress).await.map(Some),
            None => Ok(None),
        }
    }

    /// Extends the leases that a worker has on `items` until `leased_until`.
    pub async fn renew_leases(
        &self,
        worker: WorkerId,
        mut items: Vec<OutgoingId>,
        leased_until: Timestamp,
    ) -> Result<(), StoreError> {
        const RENEW: &str = "UPDATE outgoing SET leased_until = $3 WHERE id = $1 AND worker = $2";
        items.sort();
        until_undisturbed(|| {
            let renewal = |item: &OutgoingId| values![*item, worker, leased_until];
            let renewals = items.iter().map(renewal).collect();
            self.transact(async move |mut transaction: Transaction| {
                transaction.execute_many(RENEW, renewals).await?;
                Ok(transaction.commit().await?)
            })
        })
        .await
    }

    /// Releases all leases of a worker. The next attempts remain due at the scheduled time.
    pub async fn release_leases(&self, worker: WorkerId) -> Result<(), StoreError> {
        const RELEASE: &str =
            "UPDATE outgoing SET worker = NULL, leased_until = NULL WHERE worker = $1";
        let parameters = values![worker];
        self.change(RELEASE, parameters, Some(Change::Queue))
            .await
            .map(drop)
    }

    /// Stores the result of an attempt; `false` if the worker has lost the lease.
    pub async fn settle_outgoing(&self, settlement: &Settlement) -> Result<bool, StoreError> {
        let settlement = settlement.clone();
        let settle = async move |mut transaction: Transaction| {
            let settled = settle(&mut transaction, &settlement).await?;
            transaction.commit().await?;
            Ok(settled)
        };
        self.database.transact(settle).await
    }
}

fn read_due(row: &mut Row) -> Result<Due, DatabaseError> {
    Ok(Due {
        id: row.get()?,
        attempts: row.get()?,
    })
}

/// The items of those settlements whose worker still has its lease. They stay locked until the
/// transaction ends.
pub(super) async fn held_leases(
    transaction: &mut Transaction,
    settlements: impl Iterator<Item = &Settlement>,
) -> Result<BTreeSet<Uuid>, DatabaseError> {
    const HELD: &str = "
        SELECT id FROM outgoing WHERE id = $1 AND worker = $2 AND attempts = $3 AND status = 'queued' {for_update}";
    let leases: Vec<Vec<Value>> = settlements
        .map(|it| values![it.id, it.worker, i64::from(it.attempt)])
        .collect();
    if leases.is_empty() {
        return Ok(BTreeSet::new());
    }
    let held = transaction.query_many(HELD, leases).await?;
    held.into_iter()
        .flatten()
        .map(|mut row| row.get())
        .collect()
}

/// Stores the result of an attempt, and removes the message of an item that was sent.
pub(super) async fn settle(
    transaction: &mut Transaction,
    settlement: &Settlement,
) -> Result<bool, DatabaseError> {
    const SETTLE: &str = "
        UPDATE outgoing SET status = $4, due_at = $5, last_reply = $6, worker = NULL, leased_until = NULL,
            raw_size = CASE WHEN $4 = 'sent' THEN NULL ELSE raw_size END
        WHERE id = $1 AND worker = $2 AND attempts = $3 AND status = 'queued'";
    let parameters = values![
        settlement.id,
        settlement.worker,
        i64::from(settlement.attempt),
        settlement.status.as_str(),
        settlement.due_at,
        settlement.reply.as_str(),
    ];
    transaction.notify(Change::Queue);
    let settled = transaction.execute(SETTLE, parameters).await? == 1;
    if settled {
        attempts::keep(transaction, settlement).await?;
        if settlement.status == OutgoingStatus::Sent {
            transaction
                .execute(REMOVE_CHUNKS_OF_OUTGOING, values![settlement.id])
                .await?;
        }
    }
    Ok(settled)
}
