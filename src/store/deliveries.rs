//! Putting messages into inboxes: the one transaction behind every 250.
//!
//! A batch of deliveries costs a handful of statements whatever its size. The order of an inbox is made by the statement
//! that raises its `last_sequence`: its row stays locked until the commit, so commit order and sequence order are the
//! same. Live inboxes are raised in the order of their ids, then the others, so that two batches hardly ever wait for each
//! other in a circle; where they do, because a third one opens an inbox at that moment, one of them is run again.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use super::outgoing::{self, NewOutgoing};
use super::queue::{self, Settlement};
use super::{Conflict, Content, Store, StoreError, until_undisturbed};
use crate::db::{DatabaseError, RowChange, Transaction, Value, row_change, values};
use crate::model::{InboxId, MessageId, ProjectId, Timestamp};

/// One message for one or more inboxes.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// As addressed: tags unresolved, perhaps the same inbox twice.
    pub recipients: Vec<InboxId>,
    /// The project that proved itself to be the sender, if one did: it owns the inboxes that this delivery opens.
    pub project: Option<ProjectId>,
    /// The message.
    pub content: Content,
    /// What becomes of an outgoing item in the same transaction.
    pub outgoing: Option<OutgoingChange>,
}

/// What a delivery means for an outgoing item.
#[derive(Clone, Debug)]
pub enum OutgoingChange {
    /// The delivery fulfils the item, which is stored with it.
    Add(NewOutgoing),
    /// The delivery says what the item has come to.
    Settle(Settlement),
}

/// What holds for every delivery of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The present instant.
    pub now: Timestamp,
    /// How long an inbox lives that a delivery opens.
    pub lifetime: Duration,
    /// Messages that one inbox may hold.
    pub inbox_messages: u64,
    /// Who owns what nobody else does.
    pub default_project: ProjectId,
}

/// What one transaction stores.
#[derive(Debug)]
pub struct Batch {
    /// At least one.
    pub deliveries: Vec<Delivery>,
    /// What holds for all of them.
    pub policy: Policy,
}

impl Batch {
    /// A batch that is known before its transaction begins.
    pub fn known(deliveries: Vec<Delivery>, policy: Policy) -> Arc<LazyLock<Self, impl FnOnce() -> Self + Send>> {
        Arc::new(LazyLock::new(move || Self { deliveries, policy }))
    }
}

impl AsRef<Self> for Batch {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A message that lies in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The inbox.
    pub inbox: InboxId,
    /// The message.
    pub message: MessageId,
}

/// Why a batch was not stored. Nothing of it is.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The inbox holds as many messages as one may.
    #[error("inbox {0} is full")]
    InboxFull(InboxId),
    /// The address is reserved for a project that no longer exists.
    #[error("the project that owned {0} was deleted")]
    ProjectDeleted(InboxId),
    /// The outgoing item that the delivery settles is no longer the worker's own.
    #[error("the lease on the outgoing item was lost")]
    LeaseLost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Conflict for DeliveryError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

impl From<DatabaseError> for DeliveryError {
    fn from(error: DatabaseError) -> Self {
        Self::Store(error.into())
    }
}

/// The project that opens an inbox if it must be opened, and which deliveries go into it.
type Opening = (Option<ProjectId>, Vec<usize>);
type Openings = BTreeMap<InboxId, Opening>;

const LIVE: &str = "SELECT 1 FROM inboxes WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)";

/// A change of the inbox `$1`, behind which its state is looked at.
macro_rules! inbox_change {
    ($change:literal) => {
        row_change!(
            $change,
            "last_sequence, last_sequence - emptied_sequence,
                (SELECT COUNT(*) FROM projects WHERE projects.id = project_id AND deleted_at IS NOT NULL)",
            "FROM inboxes WHERE id = $1",
            1
        )
    };
}

/// Takes `$3` sequences of a live inbox. It changes nothing that an index holds, which makes it several times cheaper than
/// [`OPEN`].
const TAKE_SEQUENCES: RowChange = inbox_change!(
    "UPDATE inboxes SET last_sequence = last_sequence + $3 WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)"
);

/// Opens the inbox where it is not live, and takes `$5` sequences. An inbox that has ended keeps its project unless the
/// sender proved to be another one (`$6`), and is empty again.
const OPEN: RowChange = inbox_change!(
    "INSERT INTO inboxes
        (id, project_id, kind, created_at, expires_at, last_sequence, emptied_sequence, swept_sequence)
    VALUES ($1, $2, 'temporary', $3, $4, $5, 0, 0)
    ON CONFLICT (id) DO UPDATE SET
        project_id = CASE WHEN inboxes.expires_at <= $3 AND $6 = 1 THEN $2 ELSE inboxes.project_id END,
        created_at = CASE WHEN inboxes.expires_at <= $3 THEN $3 ELSE inboxes.created_at END,
        emptied_sequence =
            CASE WHEN inboxes.expires_at <= $3 THEN inboxes.last_sequence ELSE inboxes.emptied_sequence END,
        emptied = CASE WHEN inboxes.expires_at <= $3 THEN 0 ELSE inboxes.emptied END,
        expires_at = CASE WHEN inboxes.expires_at <= $3 THEN $4 ELSE inboxes.expires_at END,
        last_sequence = inboxes.last_sequence + $5"
);

/// Numbers ascend.
const INSERT_CONTENT: RowChange = row_change!(
    "INSERT INTO contents (trace, parsed, raw) VALUES ($1, $2, $3)",
    "number",
    "FROM contents ORDER BY number DESC LIMIT 1",
    0
);

const INSERT_MESSAGE: &str = "
    INSERT INTO messages
        (id, inbox_id, sequence, content_number, is_shared, sender, subject, subject_folded, parsed_size, received_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

impl Store {
    /// Whether mail to `recipient` would be taken now.
    ///
    /// # Errors
    /// [`DeliveryError`], as [`Store::deliver`] would answer.
    pub async fn check_recipient(&self, recipient: &InboxId, policy: &Policy) -> Result<(), DeliveryError> {
        const STATE: &str = "
            SELECT CASE WHEN expires_at <= $2 THEN 0 ELSE last_sequence - emptied_sequence END,
                -- A project's inboxes end with it.
                CASE WHEN expires_at <= $2 THEN
                    (SELECT COUNT(*) FROM projects WHERE projects.id = project_id AND deleted_at IS NOT NULL)
                ELSE 0 END
            FROM inboxes WHERE id = $1";
        let now = policy.now.as_millis();
        let Some(mut row) = self.database.look_up(STATE, values![recipient.as_str(), now]).await?.pop() else {
            return Ok(());
        };
        let (messages, deleted) = (row.integer()?, row.integer()? == 1);
        check_inbox(recipient, messages + 1, deleted, policy)
    }

    /// Stores a batch, which is made when the transaction begins. When this returns, it is on stable storage. The outcomes
    /// stand in the order of the deliveries.
    ///
    /// # Errors
    /// [`DeliveryError`]; then none of the deliveries is stored.
    pub async fn deliver<B, F>(&self, batch: &Arc<LazyLock<B, F>>) -> Result<Vec<Vec<Outcome>>, DeliveryError>
    where
        B: AsRef<Batch> + Send + Sync + 'static,
        F: FnOnce() -> B + Send + 'static,
    {
        until_undisturbed(|| {
            let batch = Arc::clone(batch);
            self.database.transact(async move |transaction| {
                let Batch { deliveries, policy } = LazyLock::force(&batch).as_ref();
                deliver(transaction, deliveries, policy).await
            })
        })
        .await
    }
}

async fn deliver(
    mut transaction: Transaction,
    deliveries: &[Delivery],
    policy: &Policy,
) -> Result<Vec<Vec<Outcome>>, DeliveryError> {
    let openings = open_inboxes(&mut transaction, deliveries, policy).await?;
    let mut rows = Rows::new(deliveries, policy, insert_contents(&mut transaction, deliveries).await?);
    take_sequences(&mut transaction, &openings, &mut rows).await?;
    transaction.execute_many(INSERT_MESSAGE, rows.messages).await?;
    change_outgoing(&mut transaction, deliveries, policy.now).await?;
    openings.into_keys().for_each(|inbox| transaction.notify(inbox.to_string()));
    transaction.commit().await?;
    Ok(rows.outcomes)
}

/// Stores a row for each delivery, shared by all its recipients; answers their numbers.
async fn insert_contents(transaction: &mut Transaction, deliveries: &[Delivery]) -> Result<Vec<i64>, DatabaseError> {
    let row = |Delivery { content, .. }: &Delivery| {
        values![content.trace.as_str(), content.parsed.clone(), content.raw.clone()]
    };
    let inserted = transaction.change_many(INSERT_CONTENT, deliveries.iter().map(row).collect()).await?;
    inserted.into_iter().map(|mut rows| rows.pop().ok_or(DatabaseError::Closed)?.integer()).collect()
}

async fn change_outgoing(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    now: Timestamp,
) -> Result<(), DeliveryError> {
    let mut added = Vec::new();
    for change in deliveries.iter().filter_map(|delivery| delivery.outgoing.as_ref()) {
        match change {
            OutgoingChange::Add(item) => added.push(item),
            OutgoingChange::Settle(settlement) if queue::settle(transaction, settlement).await? => {}
            OutgoingChange::Settle(_) => return Err(DeliveryError::LeaseLost),
        }
    }
    Ok(outgoing::insert(transaction, added.into_iter(), now).await?)
}

/// Finds the inbox of every recipient: the exact local part; with a tag, the part before it if that inbox is live; else
/// the whole local part again, to be opened.
async fn open_inboxes(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    policy: &Policy,
) -> Result<Openings, DatabaseError> {
    let mut openings = Openings::new();
    let untagged = resolve_tags(transaction, deliveries, policy).await?;
    for (index, delivery) in deliveries.iter().enumerate() {
        for recipient in &delivery.recipients {
            let inbox = untagged.get(recipient).unwrap_or(recipient);
            let (project, members) = openings.entry(inbox.clone()).or_insert((delivery.project, Vec::new()));
            *project = project.or(delivery.project);
            if members.last() != Some(&index) {
                members.push(index);
            }
        }
    }
    Ok(openings)
}

/// For each recipient with a tag that goes to the inbox without the tag: that inbox.
async fn resolve_tags(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    policy: &Policy,
) -> Result<BTreeMap<InboxId, InboxId>, DatabaseError> {
    let recipients = deliveries.iter().flat_map(|delivery| &delivery.recipients);
    let tagged: BTreeMap<InboxId, InboxId> =
        recipients.filter_map(|whole| Some((whole.clone(), whole.without_tag()?))).collect();
    if tagged.is_empty() {
        return Ok(tagged);
    }
    let now = policy.now.as_millis();
    let ids = tagged.iter().flat_map(|(whole, base)| [whole, base]);
    let found = transaction.query_many(LIVE, ids.map(|id| values![id.as_str(), now]).collect()).await?;
    let live: Vec<bool> = found.iter().map(|rows| !rows.is_empty()).collect();
    let to_base = live.chunks(2).map(|live| matches!(live, [false, true]));
    Ok(tagged.into_iter().zip(to_base).filter_map(|(pair, to_base)| to_base.then_some(pair)).collect())
}

async fn take_sequences(
    transaction: &mut Transaction,
    openings: &Openings,
    rows: &mut Rows<'_>,
) -> Result<(), DeliveryError> {
    let policy = rows.policy;
    let parameters =
        openings.iter().map(|(inbox, (_, members))| values![inbox.as_str(), policy.now.as_millis(), count(members)]);
    let taken = transaction.change_many(TAKE_SEQUENCES, parameters.collect()).await?;
    let not_live = openings.iter().zip(&taken).filter(|(_, rows)| rows.is_empty());
    let parameters: Vec<_> = not_live.map(|(opening, _)| opening_parameters(opening, policy)).collect();
    let mut opened = match parameters.as_slice() {
        [] => Vec::new(),
        _ => transaction.change_many(OPEN, parameters).await?,
    }
    .into_iter();
    for ((inbox, (_, members)), mut state) in openings.iter().zip(taken) {
        let row = state.pop().or_else(|| opened.next()?.pop());
        let mut row = row.ok_or(DatabaseError::Closed)?;
        let (last, messages, deleted) = (row.integer()?, row.integer()?, row.integer()? == 1);
        check_inbox(inbox, messages, deleted, policy)?;
        let first = last + 1 - count(members);
        members.iter().zip(first..).for_each(|(&delivery, sequence)| rows.place(delivery, inbox, sequence));
    }
    Ok(())
}

fn count(members: &[usize]) -> i64 {
    i64::try_from(members.len()).unwrap_or(i64::MAX)
}

fn opening_parameters((inbox, (project, members)): (&InboxId, &Opening), policy: &Policy) -> Vec<Value> {
    let owner = project.unwrap_or(policy.default_project);
    values![
        inbox.as_str(),
        owner.0.as_bytes().as_slice(),
        policy.now.as_millis(),
        policy.now.after(policy.lifetime).as_millis(),
        count(members),
        project.is_some(),
    ]
}

/// Refuses what an inbox with `messages` messages, the new ones counted, cannot take.
fn check_inbox(inbox: &InboxId, messages: i64, deleted: bool, policy: &Policy) -> Result<(), DeliveryError> {
    if deleted {
        return Err(DeliveryError::ProjectDeleted(inbox.clone()));
    }
    if u64::try_from(messages).is_ok_and(|messages| messages > policy.inbox_messages) {
        return Err(DeliveryError::InboxFull(inbox.clone()));
    }
    Ok(())
}

/// The rows of a batch, as they come together.
struct Rows<'a> {
    deliveries: &'a [Delivery],
    policy: &'a Policy,
    content_numbers: Vec<i64>,
    messages: Vec<Vec<Value>>,
    outcomes: Vec<Vec<Outcome>>,
}

impl<'a> Rows<'a> {
    fn new(deliveries: &'a [Delivery], policy: &'a Policy, content_numbers: Vec<i64>) -> Self {
        let outcomes = vec![Vec::new(); deliveries.len()];
        Self { deliveries, policy, content_numbers, messages: Vec::new(), outcomes }
    }

    /// Puts a delivery into an inbox.
    fn place(&mut self, delivery: usize, inbox: &InboxId, sequence: i64) {
        let Delivery { recipients, content, .. } = &self.deliveries[delivery];
        let message = MessageId::generate();
        self.messages.push(values![
            message.0.as_bytes().as_slice(),
            inbox.as_str(),
            sequence,
            self.content_numbers[delivery],
            recipients.len() > 1,
            content.sender.as_str(),
            content.subject.as_str(),
            super::content::fold_case(&content.subject),
            content.parsed_size,
            self.policy.now.as_millis(),
        ]);
        self.outcomes[delivery].push(Outcome { inbox: inbox.clone(), message });
    }
}
