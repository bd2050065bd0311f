//! Removes expired data, in steps that are so small that they do not slow down deliveries and
//! reads.

use std::time::Duration;

use uuid::Uuid;

use super::outgoing::REMOVE_CHUNKS_OF_OUTGOING;
use super::{Store, StoreError, faults, journal, repeatable, retention};
use crate::db::{Row, Transaction, Value, values};
use crate::model::Timestamp;

/// The lock of the sweeping node; an arbitrary number that is not used for anything else.
const SWEEPING: i64 = 0x7265_7374_616e_7402;
/// Maximum number of inboxes that one step empties.
const INBOXES_A_STEP: i64 = 100;
/// Maximum number of messages that one step removes. Deliveries wait for a step that is running.
const MESSAGES_A_STEP: i64 = 25;
/// Maximum number of contents without a message that one step removes.
const ORPHANS_A_STEP: i64 = 1_000;
/// How long an address remains reserved after its inbox has ended, and an outgoing item remains in
/// the history.
pub(super) const RESERVATION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// There may be more to remove.
    More,
    /// There is nothing more to remove, or another node is sweeping.
    Done,
}

impl Store {
    /// Does one step of sweeping, unless another node is doing one. Closes inboxes that have
    /// expired, removes the messages and faults of closed inboxes and old messages of permanent
    /// ones, and deletes reservations, keys and outgoing items that have expired, and the
    /// entries of the journal that are older than `keep_journal`.
    ///
    /// # Errors
    /// If the database fails; then the step has no effect.
    pub async fn sweep(&self, now: Timestamp, keep_journal: Duration) -> Result<Swept, StoreError> {
        self.database
            .transact(async move |transaction| step(transaction, now, keep_journal).await)
            .await
    }

    /// Removes contents that no message has: an administrator may have deleted messages, and an
    /// earlier version of this program could leave some behind. It reads both tables, so it is for
    /// once a day. Only for a shared database. Returns how many were removed.
    pub async fn remove_orphans(&self) -> Result<u64, StoreError> {
        self.database.transact(remove_orphans).await
    }

    /// The number of messages, live or not, and of contents in the database.
    pub async fn stored(&self) -> Result<(i64, i64), StoreError> {
        const COUNT: &str =
            "SELECT (SELECT COUNT(*) FROM messages), (SELECT COUNT(*) FROM contents)";
        let read = |row: &mut Row| Ok((row.get()?, row.get()?));
        self.only(COUNT, vec![], read).await
    }
}

async fn remove_orphans(mut transaction: Transaction) -> Result<u64, StoreError> {
    // Rows with negative numbers were copied from another database, perhaps only in part until now.
    // Only these plans read two whole tables fast.
    const PLANS: &str =
        "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_sort = on";
    const ORPHANS: &str = "
        SELECT number FROM contents
        WHERE number > 0 AND NOT EXISTS (SELECT 1 FROM messages WHERE content_number = contents.number)
        LIMIT $1";
    const REMOVE: &str = "DELETE FROM contents WHERE number = $1";
    const REMOVE_CHUNKS: &str = "DELETE FROM chunks WHERE content_number = $1";
    transaction.wait_as_long_as_it_takes();
    transaction.lock(SWEEPING).await?;
    transaction.execute_script(PLANS).await?;
    let orphans = transaction.query(ORPHANS, values![ORPHANS_A_STEP]).await?;
    let numbers = Row::all(orphans, |row| Ok(values![row.get::<i64>()?]))?;
    if numbers.is_empty() {
        return Ok(0);
    }
    let removed = transaction.execute_many(REMOVE, numbers.clone()).await?;
    transaction.execute_many(REMOVE_CHUNKS, numbers).await?;
    transaction.commit().await?;
    Ok(removed)
}

async fn step(
    mut transaction: Transaction,
    now: Timestamp,
    keep_journal: Duration,
) -> Result<Swept, StoreError> {
    if !transaction.try_lock(SWEEPING).await? {
        return Ok(Swept::Done);
    }
    let closed = close_expired_inboxes(&mut transaction, now).await?;
    let taken = retention::take_old_messages(&mut transaction, now).await?;
    let removed = remove_messages(&mut transaction).await?;
    let cleared = faults::sweep(&mut transaction, INBOXES_A_STEP).await?;
    let forgotten = forget(&mut transaction, now).await?;
    let journal = journal::forget(&mut transaction, now.before(keep_journal)).await?;
    let repeatable = repeatable::sweep(&mut transaction, now).await?;
    let worked = closed || taken || removed || cleared || forgotten || journal || repeatable;
    // Also if there was nothing to do: then the lock is free when this returns.
    transaction.commit().await?;
    Ok(if worked { Swept::More } else { Swept::Done })
}

/// If a delivery has locked an inbox, the inbox is left for the next step: waiting for several
/// inboxes could deadlock, and the delivery may reopen the inbox.
async fn close_expired_inboxes(
    transaction: &mut Transaction,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const CLOSE: &str = "
        UPDATE inboxes SET closed = 1, message_count = 0, emptied_sequence = last_sequence WHERE number IN (
            SELECT number FROM inboxes WHERE closed = 0 AND expires_at <= $1
            ORDER BY expires_at LIMIT $2 {skip_locked})";
    Ok(transaction
        .execute(CLOSE, values![now, INBOXES_A_STEP])
        .await?
        > 0)
}

/// As above, an inbox that a delivery has locked is left for the next step.
async fn remove_messages(transaction: &mut Transaction) -> Result<bool, StoreError> {
    const EMPTIED: &str =
        "SELECT number, emptied_sequence FROM inboxes WHERE swept_sequence < emptied_sequence
                           ORDER BY number LIMIT $1 {skip_locked}";
    const REMOVE: &str = "
        DELETE FROM messages WHERE number IN (
            SELECT number FROM messages WHERE inbox_number = $1 AND sequence <= $2 ORDER BY sequence LIMIT $3)
        RETURNING content_number";
    const SWEPT: &str = "UPDATE inboxes SET swept_sequence = $2 WHERE number = $1";
    let mut left = MESSAGES_A_STEP;
    let emptied = transaction.query(EMPTIED, values![INBOXES_A_STEP]).await?;
    let any = !emptied.is_empty();
    for mut inbox in emptied {
        let number = Value::from(inbox.get::<i64>()?);
        let until = Value::from(inbox.get::<i64>()?);
        let removed = transaction
            .query(REMOVE, vec![number.clone(), until.clone(), left.into()])
            .await?;
        left -= i64::try_from(removed.len()).unwrap_or(left);
        remove_contents(transaction, removed).await?;
        if left <= 0 {
            break;
        }
        transaction.execute(SWEPT, vec![number, until]).await?;
    }
    Ok(any)
}

/// Removes the contents of removed messages, unless the message of another recipient has the same
/// content. The content of a message that was deleted earlier is already gone.
pub(super) async fn remove_contents(
    transaction: &mut Transaction,
    removed: Vec<Row>,
) -> Result<(), StoreError> {
    // If two transactions remove the last messages with a content, the later one sees the effect of
    // the earlier one.
    const LOCK: &str = "SELECT 1 FROM contents WHERE number = $1 {for_update}";
    const REMOVE: &str = "
        DELETE FROM contents WHERE number = $1
            AND NOT EXISTS (SELECT 1 FROM messages WHERE content_number = $1 AND is_shared = 1)";
    const REMOVE_CHUNKS: &str = "
        DELETE FROM chunks WHERE content_number = $1
            AND NOT EXISTS (SELECT 1 FROM messages WHERE content_number = $1 AND is_shared = 1)";
    let numbers = Row::all(removed, Row::get::<Option<i64>>)?;
    let numbers = numbers.into_iter().flatten();
    let numbers: Vec<Vec<Value>> = numbers.map(|number| values![number]).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    transaction.query_many(LOCK, numbers.clone()).await?;
    transaction.execute_many(REMOVE, numbers.clone()).await?;
    transaction.execute_many(REMOVE_CHUNKS, numbers).await?;
    Ok(())
}

async fn forget(transaction: &mut Transaction, now: Timestamp) -> Result<bool, StoreError> {
    const RESERVATIONS: &str = "
        DELETE FROM inboxes WHERE number IN (
            SELECT number FROM inboxes AS ended WHERE closed = 1 AND expires_at <= $1
                AND swept_sequence = last_sequence
                AND NOT EXISTS (SELECT 1 FROM inboxes AS tagged WHERE tagged.base = ended.id)
            ORDER BY expires_at LIMIT $2 {skip_locked})
        RETURNING base";
    const BASE: &str = "
        DELETE FROM inboxes WHERE id = $1 AND closed = 1 AND expires_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM inboxes AS tagged WHERE tagged.base = $1)";
    const PROJECTS: &str = "
        DELETE FROM projects WHERE deleted_at <= $1
            AND NOT EXISTS (SELECT 1 FROM inboxes WHERE project_id = projects.id)";
    const KEYS: &str = "DELETE FROM api_keys WHERE expires_at <= $1";
    const SESSIONS: &str = "DELETE FROM sessions WHERE expires_at <= $1";
    let reserved_since = now.before(RESERVATION);
    let reservations = transaction
        .query(RESERVATIONS, values![reserved_since, INBOXES_A_STEP])
        .await?;
    let mut forgotten = reservations.len() as u64;
    let mut bases = Vec::new();
    for mut row in reservations {
        bases.extend(row.get::<Option<String>>()?.map(|base| values![base]));
    }
    forgotten += transaction.execute_many(BASE, bases).await?;
    forgotten += forget_outgoing(transaction, reserved_since).await?;
    forgotten += transaction
        .execute(PROJECTS, values![reserved_since])
        .await?;
    forgotten += transaction.execute(KEYS, values![now]).await?;
    forgotten += transaction.execute(SESSIONS, values![now]).await?;
    Ok(forgotten > 0)
}

async fn forget_outgoing(
    transaction: &mut Transaction,
    sent_before: Timestamp,
) -> Result<u64, StoreError> {
    const OUTGOING: &str = "
        DELETE FROM outgoing WHERE id IN (
            SELECT id FROM outgoing WHERE created_at <= $1 AND status <> 'queued' ORDER BY created_at LIMIT $2)
        RETURNING id";
    let forgotten = transaction
        .query(OUTGOING, values![sent_before, INBOXES_A_STEP])
        .await?;
    let count = forgotten.len() as u64;
    let ids = Row::all(forgotten, |row| Ok(values![row.get::<Uuid>()?]))?;
    transaction
        .execute_many("DELETE FROM attempts WHERE outgoing_id = $1", ids.clone())
        .await?;
    transaction
        .execute_many(REMOVE_CHUNKS_OF_OUTGOING, ids)
        .await?;
    Ok(count)
}
