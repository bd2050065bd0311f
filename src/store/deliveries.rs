//! Stores messages in inboxes: the transaction that commits before each reply 250.
//!
//! A batch of deliveries needs a few statements, independent of its size, in three steps: the inboxes are locked and
//! read, [`Plan`] decides which deliveries are stored and where, and the rows are written. The row of an inbox stays
//! locked until the commit, so its messages are committed in the order of their sequences. If another transaction has
//! locked an inbox for long, its deliveries are skipped ([`RefusedDelivery::InboxBusy`]) and the others are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::content::{Chunk, Origin};
use super::faults;
use super::outgoing::{self, NewOutgoing};
use super::plan::{InboxState, Opening, Place, Plan, Target};
use super::queue::{self, Settlement};
use super::tags::resolve_recipients;
use super::{ATTEMPTS, Content, Store, StoreError, until_undisturbed};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{FaultAction, InboxId, MessageId, ProjectId, Timestamp};

/// One message for one or more inboxes.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The recipients as addressed: with tags, and possibly the same inbox twice.
    pub recipients: Vec<InboxId>,
    /// The project whose key the sender authenticated with: it owns the inboxes that this delivery creates.
    pub project: Option<ProjectId>,
    /// Whether the delivery creates an inbox that does not exist. Only mail over SMTP does.
    pub opens_inboxes: bool,
    /// The message.
    pub content: Content,
    /// The change of an outgoing item that is made in the same transaction.
    pub outgoing: Option<OutgoingChange>,
    /// The notification for each inbox at which a fault makes the message bounce.
    pub bounces: Vec<(InboxId, NewOutgoing)>,
}

/// How a delivery changes an outgoing item.
#[derive(Clone, Debug)]
pub enum OutgoingChange {
    /// The delivery sends the item. The item is stored with it.
    Add(NewOutgoing),
    /// The delivery reports the outcome of an attempt to send the item.
    Settle(Settlement),
    /// The transaction panics, to test the effect on other transactions.
    #[cfg(test)]
    Panic,
}

/// The settings for all deliveries of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The current time.
    pub now: Timestamp,
    /// The lifetime of an inbox that a delivery creates.
    pub lifetime: Duration,
    /// The most messages in one inbox.
    pub inbox_messages: u64,
    /// The owner of inboxes that a delivery without a project creates.
    pub default_project: ProjectId,
}

/// A message in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The inbox.
    pub inbox: InboxId,
    /// The message.
    pub message: MessageId,
}

/// The result of a delivery that was not rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The stored messages, one per inbox; none if a fault keeps the message from being stored.
    pub messages: Vec<Outcome>,
    /// The faults that it used, at most one per inbox.
    pub faults: Vec<UsedFault>,
}

/// A fault that a delivery used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFault {
    /// The inbox that has the fault.
    pub inbox: InboxId,
    /// The recipients whose mail goes to that inbox, as addressed.
    pub recipients: Vec<InboxId>,
    /// What the fault does.
    pub action: FaultAction,
}

/// Why a delivery was not stored, for any of its recipients.
#[derive(Debug, thiserror::Error)]
pub enum RefusedDelivery {
    /// The inbox is full.
    #[error("inbox {0} is full")]
    InboxFull(InboxId),
    /// The address is reserved for a project that no longer exists.
    #[error("the project that owned {0} was deleted")]
    ProjectDeleted(InboxId),
    /// The address has a tag, and the address without it belongs to another project than the sender's.
    #[error("the address {0} belongs to another project")]
    Foreign(InboxId),
    /// There is no such live inbox, and the delivery may not create one.
    #[error("there is no inbox {0}")]
    NoInbox(InboxId),
    /// Another transaction has locked the inbox. The delivery may be retried.
    #[error("another transaction has locked inbox {0}")]
    InboxBusy(InboxId),
    /// A fault of an inbox makes the message bounce, and the delivery has no notification for its sender. No fault was
    /// used.
    #[error("the message has to bounce")]
    BounceWanted {
        /// The faults that need a notification.
        faults: Vec<UsedFault>,
        /// The delivery.
        delivery: Box<Delivery>,
    },
    /// The worker lost its lease on the outgoing item that the delivery settles.
    #[error("the lease on the outgoing item was lost")]
    LeaseLost,
}

/// For each delivery of a batch, in order: its result, or why it was rejected.
pub type Outcomes = Vec<Result<Delivered, RefusedDelivery>>;

/// What a batch does about an inbox that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyInbox {
    /// Its deliveries are skipped, unless it is unlocked within half a second: another node may be committing.
    Skip,
    /// The transaction waits for the inbox, up to the server's lock timeout.
    Wait,
}

/// How the rows of the inboxes are locked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    WaitBriefly,
    SkipBusy,
    Wait,
}

/// The state of the inbox `$1` at `$2`.
macro_rules! inbox_state {
    ($lock:literal) => {
        concat!(
            "SELECT number, message_count, last_sequence, COALESCE(faults_left, 0), is_live,
                -- The inboxes of a project end with it.
                CASE WHEN is_live = 1 THEN 0
                    ELSE (SELECT COUNT(*) FROM projects WHERE id = project_id AND deleted_at IS NOT NULL) END,
                project_id
             FROM (SELECT inboxes.*,
                    CASE WHEN closed = 0 AND (expires_at IS NULL OR expires_at > $2) THEN 1 ELSE 0 END AS is_live
                FROM inboxes WHERE id = $1 ",
            $lock,
            ") AS inbox"
        )
    };
}

impl Store {
    /// Whether mail to `recipient` would be accepted now, from a sender that authenticated with a key of `sender`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn check_recipient(
        &self,
        recipient: &InboxId,
        sender: Option<ProjectId>,
        policy: &Policy,
    ) -> Result<Result<(), RefusedDelivery>, StoreError> {
        const STATE: &str = inbox_state!("");
        let look_up = async |id: &InboxId| {
            let rows = self.database.look_up(STATE, values![id, policy.now]).await?;
            rows.into_iter().next().map(read_state).transpose()
        };
        let mut state = look_up(recipient).await?.unwrap_or_default();
        if !state.is_live()
            && let Some(base) = recipient.without_tag()
            && let Some(base_state) = look_up(&base).await?
        {
            if base_state.is_live() {
                return Ok(base_state.check(&base, true, sender, 1, policy));
            }
            state.set_base(base_state.base());
        }
        Ok(state.check(recipient, true, sender, 1, policy))
    }

    /// Stores a batch of deliveries in one transaction. When this returns, every delivery with an `Ok` result is on
    /// stable storage.
    ///
    /// # Errors
    /// If the database fails; then none of the deliveries is stored.
    pub async fn deliver(
        &self,
        batch: &Arc<Vec<Delivery>>,
        policy: Policy,
        busy: BusyInbox,
    ) -> Result<Outcomes, StoreError> {
        if busy == BusyInbox::Wait {
            return self.deliver_and_wait(batch, policy).await;
        }
        match self.deliver_once(batch, policy, Locking::WaitBriefly).await {
            Err(error) if error.is_lock_timeout() => self.deliver_once(batch, policy, Locking::SkipBusy).await,
            delivered => delivered,
        }
    }

    /// Retries if another transaction has just created one of the inboxes; the next attempt waits for that transaction.
    async fn deliver_and_wait(&self, batch: &Arc<Vec<Delivery>>, policy: Policy) -> Result<Outcomes, StoreError> {
        for _ in 1..ATTEMPTS {
            let outcomes = self.deliver_once(batch, policy, Locking::Wait).await?;
            if !outcomes.iter().any(|outcome| matches!(outcome, Err(RefusedDelivery::InboxBusy(_)))) {
                return Ok(outcomes);
            }
        }
        self.deliver_once(batch, policy, Locking::Wait).await
    }

    async fn deliver_once(
        &self,
        batch: &Arc<Vec<Delivery>>,
        policy: Policy,
        locking: Locking,
    ) -> Result<Outcomes, StoreError> {
        until_undisturbed(|| {
            let batch = Arc::clone(batch);
            self.database.transact(async move |transaction| deliver(transaction, &batch, &policy, locking).await)
        })
        .await
    }
}

async fn deliver(
    mut transaction: Transaction,
    deliveries: &[Delivery],
    policy: &Policy,
    locking: Locking,
) -> Result<Outcomes, StoreError> {
    if locking != Locking::Wait {
        transaction.wait_briefly().await?;
    }
    let (targets, bases) = resolve_recipients(&mut transaction, deliveries, policy.now).await?;
    let mut states = lock_inboxes(&mut transaction, deliveries, &targets, policy.now, locking).await?;
    for (tagged, base) in bases {
        states.entry(tagged).or_default().set_base(Some(base));
    }
    read_faults(&mut transaction, &mut states).await?;
    let mut plan = Plan::new(deliveries, targets, states, policy);
    open_inboxes(&mut transaction, &mut plan).await?;
    if locking == Locking::Wait && plan.has_busy_inbox() {
        // Another transaction has just created it. This one is rolled back, so that it can be retried and wait for the
        // other.
        return Ok(plan.outcomes());
    }
    change_outgoing(&mut transaction, &mut plan).await?;
    write_messages(&mut transaction, &mut plan).await?;
    faults::write_uses(&mut transaction, &plan.uses(), policy.now).await?;
    plan.changes().for_each(|change| transaction.notify(change.key()));
    transaction.commit().await?;
    Ok(plan.outcomes())
}

/// Locks the inboxes of a batch in the order of their ids, and reads them.
async fn lock_inboxes(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    targets: &[Vec<Target>],
    now: Timestamp,
    locking: Locking,
) -> Result<BTreeMap<InboxId, InboxState>, DatabaseError> {
    const FREE: &str = inbox_state!("{skip_locked}");
    const ANY: &str = inbox_state!("{for_update}");
    let sql = if locking == Locking::SkipBusy { FREE } else { ANY };
    let ids: BTreeSet<&InboxId> = targets.iter().flatten().map(|target| &target.inbox).collect();
    let found = transaction.query_many(sql, ids.iter().map(|id| values![*id, now]).collect()).await?;
    let mut states = BTreeMap::new();
    for (id, rows) in ids.into_iter().zip(found) {
        if let Some(row) = rows.into_iter().next() {
            states.insert(id.clone(), read_state(row)?);
        }
    }
    mark_busy(transaction, deliveries, targets, &mut states).await?;
    Ok(states)
}

/// Finds the missing inboxes that another transaction has locked, for deliveries that may not create them. For other
/// deliveries, the attempt to create them shows it.
async fn mark_busy(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    targets: &[Vec<Target>],
    states: &mut BTreeMap<InboxId, InboxState>,
) -> Result<(), DatabaseError> {
    const EXISTS: &str = "SELECT 1 FROM inboxes WHERE id = $1";
    let must_exist = deliveries.iter().zip(targets).filter(|(delivery, _)| !delivery.opens_inboxes);
    let missing: Vec<&InboxId> = must_exist
        .flat_map(|(_, targets)| targets)
        .map(|it| &it.inbox)
        .filter(|id| !states.contains_key(*id))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let found = transaction.query_many(EXISTS, missing.iter().map(|id| values![*id]).collect()).await?;
    for (id, _) in missing.into_iter().zip(found).filter(|(_, rows)| !rows.is_empty()) {
        states.insert(id.clone(), InboxState::busy());
    }
    Ok(())
}

fn read_state(mut row: Row) -> Result<InboxState, DatabaseError> {
    let (number, messages, last_sequence) = (row.integer()?, row.integer()?, row.integer()?);
    let faults_left = row.integer()?;
    let (is_live, is_disabled) = (row.integer()? == 1, row.integer()? == 1);
    let owner = ProjectId(row.uuid()?);
    let messages = u64::try_from(messages).unwrap_or(0);
    Ok(InboxState::read(number, owner, messages, last_sequence, is_live, is_disabled).with_faults_left(faults_left))
}

/// Reads the faults of those inboxes that have some left. If none has, this needs no statement.
async fn read_faults(
    transaction: &mut Transaction,
    states: &mut BTreeMap<InboxId, InboxState>,
) -> Result<(), StoreError> {
    let mut faulty: Vec<_> = states.values_mut().filter_map(|state| Some((state.faulty_number()?, state))).collect();
    if faulty.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = faulty.iter().map(|(number, _)| *number).collect();
    let pending = faults::pending(transaction, &numbers).await?;
    faulty.iter_mut().zip(pending).for_each(|((_, state), pending)| state.set_faults(pending));
    Ok(())
}

/// Creates or reopens the inboxes that the plan needs and that are not live.
async fn open_inboxes(transaction: &mut Transaction, plan: &mut Plan<'_>) -> Result<(), DatabaseError> {
    const CREATE: &str = "
        INSERT INTO inboxes (id, project_id, kind, created_at, expires_at, opened_by_mail)
        VALUES ($1, $2, 'temporary', $3, $4, 1)
        ON CONFLICT (id) DO NOTHING RETURNING number";
    const REOPEN: &str = "
        UPDATE inboxes SET project_id = $2, kind = 'temporary',
            created_at = $3, expires_at = $4, deleted_at = NULL, opened_by_mail = 1, closed = 0, message_count = 0,
            emptied_sequence = last_sequence, faults_left = CASE WHEN faults_left IS NULL THEN NULL ELSE -1 END
        WHERE number = $1";
    let policy = plan.policy;
    let expires_at = policy.now.after(policy.lifetime);
    let (mut reopen, mut create, mut created) = (Vec::new(), Vec::new(), Vec::new());
    for Opening { id, owner, state } in plan.inboxes_to_open() {
        if let Some(number) = state.number {
            reopen.push(values![number, owner, policy.now, expires_at]);
            state.reopened();
        } else {
            create.push(values![id, owner, policy.now, expires_at]);
            created.push(state);
        }
    }
    if !reopen.is_empty() {
        transaction.execute_many(REOPEN, reopen).await?;
    }
    if !create.is_empty() {
        for (state, rows) in created.into_iter().zip(transaction.query_many(CREATE, create).await?) {
            state.created(rows.into_iter().next().map(|mut row| row.integer()).transpose()?);
        }
        plan.refuse_busy();
    }
    Ok(())
}

/// Writes the changes of outgoing items.
async fn change_outgoing(transaction: &mut Transaction, plan: &mut Plan<'_>) -> Result<(), DatabaseError> {
    let mut added = Vec::new();
    for (index, delivery) in plan.deliveries.iter().enumerate() {
        added.extend(delivery.bounces.iter().filter(|(inbox, _)| plan.is_bounced(index, inbox)).map(|(_, item)| item));
        let Some(change) = delivery.outgoing.as_ref().filter(|_| plan.is_stored(index)) else { continue };
        match change {
            OutgoingChange::Add(item) => added.push(item),
            OutgoingChange::Settle(settlement) if queue::settle(transaction, settlement).await? => {}
            OutgoingChange::Settle(_) => plan.refuse(index, RefusedDelivery::LeaseLost),
            #[cfg(test)]
            OutgoingChange::Panic => panic!("intended by the test"),
        }
    }
    outgoing::insert(transaction, added.into_iter(), plan.policy.now).await
}

/// Writes the messages that the plan stores.
async fn write_messages(transaction: &mut Transaction, plan: &mut Plan<'_>) -> Result<(), DatabaseError> {
    const RAISE: &str = "
        UPDATE inboxes SET last_sequence = last_sequence + $2, message_count = message_count + $2, last_received_at = $3
        WHERE number = $1";
    const INSERT: &str = "
        INSERT INTO messages (id, inbox_number, sequence, content_number, is_shared, parsed_size, raw_size, received_at,
            has_otp, has_link, sender, subject, subject_folded, attachments, project_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
            (SELECT project_id FROM inboxes WHERE number = $2))";
    let (deliveries, now) = (plan.deliveries, plan.policy.now);
    let stored: Vec<usize> = (0..deliveries.len()).filter(|index| plan.is_stored(*index)).collect();
    let contents = stored.iter().map(|index| &deliveries[*index].content);
    let numbers = insert_contents(transaction, contents).await?;
    let mut messages = Vec::with_capacity(stored.len());
    for (index, content_number) in stored.into_iter().zip(numbers) {
        let content = &deliveries[index].content;
        let places = plan.place(index);
        let is_shared = places.len() > 1;
        messages.extend(places.into_iter().map(|Place { message, inbox_number, sequence }| {
            values![
                message,
                inbox_number,
                sequence,
                content_number,
                is_shared,
                content.parsed_size,
                content.raw_size,
                now,
                content.has.otp,
                content.has.link,
                content.sender.as_str(),
                content.subject.as_str(),
                content.subject_folded.as_str(),
                content.attachments,
            ]
        }));
    }
    let raised = plan.raised().map(|(number, count)| values![number, count, now]).collect();
    transaction.execute_many(RAISE, raised).await?;
    transaction.execute_many(INSERT, messages).await?;
    Ok(())
}

fn content_row(content: &Content) -> Vec<Value> {
    let Origin { trace, reverse_path, reception } = &content.origin;
    let reception = reception.as_ref();
    values![
        trace.as_str(),
        reverse_path.as_str(),
        reception.map(|reception| reception.client.to_string()),
        reception.map(|reception| &*reception.helo),
        reception.and_then(|reception| reception.tls),
        reception.map(|reception| reception.authenticated),
        content.data.clone(),
    ]
}

/// Stores one row per content, shared by all its recipients; returns their numbers.
async fn insert_contents<'a>(
    transaction: &mut Transaction,
    contents: impl Iterator<Item = &'a Content> + Clone,
) -> Result<Vec<i64>, DatabaseError> {
    const INSERT: &str = "
        INSERT INTO contents (trace, reverse_path, client, helo, tls, authenticated, data)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number";
    const INSERT_CHUNK: &str = "INSERT INTO chunks (content_number, form, position, data) VALUES ($1, $2, $3, $4)";
    let inserted = transaction.query_many(INSERT, contents.clone().map(content_row).collect()).await?;
    let number = |rows: Vec<Row>| rows.into_iter().next().ok_or(DatabaseError::NoRow)?.integer();
    let numbers: Vec<i64> = inserted.into_iter().map(number).collect::<Result<_, _>>()?;
    let mut chunks = Vec::new();
    for (content, &number) in contents.zip(&numbers) {
        chunks.extend(
            content.chunks.iter().map(|Chunk { form, position, data }| values![number, *form, *position, data.clone()]),
        );
    }
    if !chunks.is_empty() {
        transaction.execute_many(INSERT_CHUNK, chunks).await?;
    }
    Ok(numbers)
}
