//! The faults of inboxes and their uses.
//!
//! The faults of an inbox are used in order: the first fault with uses left applies, if `at` is the
//! current stage. A use is written in the transaction that decides on it. This transaction has
//! locked the row of the inbox, so no use is counted twice.

use std::collections::BTreeMap;

use restante_delivery::{FaultUse, PendingFault};
use uuid::Uuid;

use super::{Change, Store, StoreError, live, until_undisturbed};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    Fault, FaultAction, FaultPoint, FaultState, Inbox, InboxId, ProjectId, Timestamp,
};

/// The fault that applies to a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientFault {
    /// None: the inbox has no fault with uses left.
    None(InboxId),
    /// None at this stage. One may apply when the message has been received.
    Later,
    /// This fault. Its use is on stable storage.
    Now(FaultAction),
}

/// The columns that [`read_pending`] reads.
macro_rules! fault_columns {
    () => {
        "number, point, action, reply, stores, seconds, times, used"
    };
}

const PENDING: &str = concat!(
    "SELECT ",
    fault_columns!(),
    " FROM faults WHERE inbox_number = $1 AND used < times ORDER BY position"
);

impl Store {
    /// Replaces the faults of a live inbox. Returns the id of this change; `None` if the inbox has
    /// ended.
    pub async fn set_faults(
        &self,
        inbox: &Inbox,
        faults: &[Fault],
        now: Timestamp,
    ) -> Result<Option<Uuid>, StoreError> {
        until_undisturbed(|| {
            let id = inbox.id.clone();
            let project = inbox.project;
            let faults = faults.to_vec();
            self.database.transact(async move |transaction| {
                replace(transaction, id, project, &faults, now).await
            })
        })
        .await
    }

    /// The faults of a live inbox in their order, with their uses.
    pub async fn faults(
        &self,
        inbox: &Inbox,
        now: Timestamp,
    ) -> Result<Vec<FaultState>, StoreError> {
        // One statement, so that the faults and their uses are consistent.
        const LIST: &str = concat!(
            "
            SELECT f.number, f.point, f.action, f.reply, f.stores, f.seconds, f.times, f.used, u.used_at
            FROM faults f LEFT JOIN fault_uses u ON u.fault_number = f.number
            WHERE f.inbox_number = (
                SELECT number FROM inboxes WHERE id = $1 AND project_id = $2 AND faults_left >= 0 AND ",
            live!("$3"),
            ")
            ORDER BY f.position, u.number"
        );
        let rows = self
            .database
            .query(LIST, values![&inbox.id, inbox.project, now])
            .await?;
        let mut states: Vec<(i64, FaultState)> = Vec::new();
        for mut row in rows {
            let PendingFault { number, fault, .. } = read_pending(&mut row)?;
            if states.last().is_none_or(|(last, _)| *last != number) {
                states.push((
                    number,
                    FaultState {
                        fault,
                        uses: Vec::new(),
                    },
                ));
            }
            let used_at = row.get::<Option<Timestamp>>()?;
            if let Some((_, state)) = states.last_mut() {
                state.uses.extend(used_at);
            }
        }
        Ok(states.into_iter().map(|(_, state)| state).collect())
    }

    /// The live inboxes with faults that have uses left.
    pub async fn inboxes_with_faults(&self, now: Timestamp) -> Result<Vec<InboxId>, StoreError> {
        const FAULTY: &str = concat!(
            "
            SELECT id FROM inboxes WHERE faults_left IS NOT NULL AND faults_left > 0 AND ",
            live!("$1")
        );
        self.all(FAULTY, values![now], Row::get).await
    }

    /// Uses the fault that applies to `recipient` at RCPT TO: an address on the mail domain, or,
    /// with `is_shared`, the inbox with a shared address. When this returns, the use is on stable
    /// storage.
    pub async fn use_recipient_fault(
        &self,
        recipient: &InboxId,
        is_shared: bool,
        now: Timestamp,
    ) -> Result<RecipientFault, StoreError> {
        let Some((inbox, number, left)) =
            self.inbox_of_recipient(recipient, is_shared, now).await?
        else {
            return Ok(RecipientFault::None(recipient.clone()));
        };
        if left <= 0 {
            return Ok(RecipientFault::None(inbox));
        }
        until_undisturbed(|| {
            let inbox = inbox.clone();
            self.database.transact(async move |transaction| {
                use_at_rcpt(transaction, inbox, number, now).await
            })
        })
        .await
    }

    /// The live inbox to which mail to `recipient` goes, its number, and how many uses its faults
    /// have left. Locks no rows.
    async fn inbox_of_recipient(
        &self,
        recipient: &InboxId,
        is_shared: bool,
        now: Timestamp,
    ) -> Result<Option<(InboxId, i64, i64)>, StoreError> {
        const LEFT: &str = concat!(
            "
            SELECT number, COALESCE(faults_left, 0) FROM inboxes
            WHERE id = $1 AND ($3 = 1) = (address IS NOT NULL) AND ",
            live!("$2")
        );
        for id in recipient.meant() {
            let read = |row: &mut Row| Ok((id.clone(), row.get()?, row.get()?));
            let found = self.first(LEFT, values![&id, now, is_shared], read);
            if let Some(found) = found.await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

async fn replace(
    mut transaction: Transaction,
    inbox: InboxId,
    project: ProjectId,
    faults: &[Fault],
    now: Timestamp,
) -> Result<Option<Uuid>, StoreError> {
    const HOLD: &str = concat!(
        "
        SELECT number, faults_left FROM inboxes WHERE id = $1 AND project_id = $2 AND ",
        live!("$3"),
        " {for_update}"
    );
    const INSERT: &str = "
        INSERT INTO faults (inbox_number, position, point, action, reply, stores, seconds, times)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    const COUNT: &str =
        "UPDATE inboxes SET faults_left = $2, changes = changes + 1 WHERE number = $1";
    let held = transaction
        .query(HOLD, values![&inbox, project, now])
        .await?;
    let Some(mut row) = held.into_iter().next() else {
        return Ok(None);
    };
    let number = row.get()?;
    let had_faults = row.get::<Option<i64>>()?.is_some();
    if had_faults {
        remove(&mut transaction, number).await?;
    }
    if !faults.is_empty() {
        let rows = faults
            .iter()
            .zip(0_i64..)
            .map(|(fault, position)| fault_row(number, position, fault));
        transaction.execute_many(INSERT, rows.collect()).await?;
    }
    if had_faults || !faults.is_empty() {
        let uses: i64 = faults.iter().map(|fault| i64::from(fault.times)).sum();
        transaction
            .execute(COUNT, values![number, Some(uses).filter(|uses| *uses > 0)])
            .await?;
    }
    let change = Uuid::now_v7();
    transaction.notify(Change::Faults(inbox.clone(), change));
    transaction.notify(Change::Inbox(inbox));
    transaction.commit().await?;
    Ok(Some(change))
}

fn fault_row(inbox_number: i64, position: i64, fault: &Fault) -> Vec<Value> {
    let restante_api::Fault {
        reply,
        store,
        seconds,
        ..
    } = fault.request();
    let at = fault.at.as_str();
    let action = fault.action.as_str();
    let seconds = seconds.map(i64::from);
    let times = i64::from(fault.times);
    values![
        inbox_number,
        position,
        at,
        action,
        reply,
        store,
        seconds,
        times
    ]
}

async fn use_at_rcpt(
    mut transaction: Transaction,
    inbox: InboxId,
    number: i64,
    now: Timestamp,
) -> Result<RecipientFault, StoreError> {
    const HOLD: &str = concat!(
        "
        SELECT 1 FROM inboxes WHERE number = $1 AND faults_left > 0 AND ",
        live!("$2"),
        " {for_update}"
    );
    if transaction
        .query(HOLD, values![number, now])
        .await?
        .is_empty()
    {
        return Ok(RecipientFault::None(inbox));
    }
    let mut pending = pending(&mut transaction, &[number])
        .await?
        .pop()
        .expect("it has one list for each number")
        .into_iter();
    let Some(first) = pending.next() else {
        return Ok(RecipientFault::None(inbox));
    };
    if first.fault.at != FaultPoint::Rcpt {
        return Ok(RecipientFault::Later);
    }
    let used = FaultUse {
        inbox: inbox.clone(),
        fault: first.number,
    };
    write_uses(
        &mut transaction,
        &[used],
        &BTreeMap::from([(inbox.clone(), number)]),
        now,
    )
    .await?;
    transaction.notify(Change::Inbox(inbox));
    transaction.commit().await?;
    Ok(RecipientFault::Now(first.fault.action))
}

/// The faults with uses left of each of these inboxes, in order.
pub(super) async fn pending(
    transaction: &mut Transaction,
    inboxes: &[i64],
) -> Result<Vec<Vec<PendingFault>>, StoreError> {
    let found = transaction
        .query_many(
            PENDING,
            inboxes.iter().map(|number| values![*number]).collect(),
        )
        .await?;
    found
        .into_iter()
        .map(|rows| {
            rows.into_iter()
                .map(|mut row| read_pending(&mut row))
                .collect()
        })
        .collect()
}

/// Counts uses. The transaction must have locked the inboxes.
pub(super) async fn write_uses(
    transaction: &mut Transaction,
    uses: &[FaultUse],
    numbers: &BTreeMap<InboxId, i64>,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    const USE: &str = "UPDATE faults SET used = used + 1 WHERE number = $1";
    const RECORD: &str = "INSERT INTO fault_uses (fault_number, used_at) VALUES ($1, $2)";
    const LEFT: &str = "
        UPDATE inboxes SET faults_left = faults_left - 1, changes = changes + 1 WHERE number = $1";
    if uses.is_empty() {
        return Ok(());
    }
    transaction
        .execute_many(USE, uses.iter().map(|used| values![used.fault]).collect())
        .await?;
    transaction
        .execute_many(
            RECORD,
            uses.iter().map(|used| values![used.fault, now]).collect(),
        )
        .await?;
    let left = uses
        .iter()
        .map(|used| values![numbers.get(&used.inbox).copied()]);
    transaction.execute_many(LEFT, left.collect()).await?;
    Ok(())
}

/// Removes the faults of inboxes that have ended, and those of earlier inboxes with the same
/// address.
pub(super) async fn sweep(transaction: &mut Transaction, most: i64) -> Result<bool, StoreError> {
    const ENDED: &str = "
        SELECT number FROM inboxes WHERE faults_left IS NOT NULL AND (closed = 1 OR faults_left < 0)
        ORDER BY number LIMIT $1 {skip_locked}";
    const NONE: &str = "UPDATE inboxes SET faults_left = NULL WHERE number = $1";
    let ended = transaction.query(ENDED, values![most]).await?;
    let any = !ended.is_empty();
    for mut row in ended {
        let number = row.get()?;
        remove(transaction, number).await?;
        transaction.execute(NONE, values![number]).await?;
    }
    Ok(any)
}

async fn remove(transaction: &mut Transaction, inbox_number: i64) -> Result<(), DatabaseError> {
    const USES: &str = "
        DELETE FROM fault_uses WHERE fault_number IN (SELECT number FROM faults WHERE inbox_number = $1)";
    const FAULTS: &str = "DELETE FROM faults WHERE inbox_number = $1";
    transaction.execute(USES, values![inbox_number]).await?;
    transaction.execute(FAULTS, values![inbox_number]).await?;
    Ok(())
}

fn read_pending(row: &mut Row) -> Result<PendingFault, StoreError> {
    let number = row.get()?;
    let fields = restante_api::Fault {
        at: Some(row.get()?),
        action: Some(row.get()?),
        reply: row.get()?,
        store: row.get()?,
        seconds: row.get()?,
        times: Some(row.get()?),
    };
    let used: u32 = row.get()?;
    let fault = Fault::requested(&fields)
        .map_err(|_| StoreError::Damaged("a fault is none of those that this version knows"))?;
    Ok(PendingFault {
        number,
        left: fault.times.saturating_sub(used),
        fault,
    })
}
