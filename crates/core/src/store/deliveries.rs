//! Delivery in the database: loads the facts that [`restante_delivery::decide`] needs, and applies
//! what it decides.
//!
//! Both run in one transaction, which commits before each reply 250. A batch needs a few
//! statements, independent of its size. The row of an inbox stays locked from [`load`] to the
//! commit, so its messages are committed in the order of their sequences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use restante_delivery::{
    Address, Change as Arrival, Decision, Facts, Inbox, NewMessage, Opening, Original, Recipient,
    Refusal, Request, Reservation, Verdict, check,
};

use super::content::insert_contents;
use super::outgoing::{self, NewOutgoing, QUEUE_LIFETIME};
use super::queue::{self, Settlement};
use super::{Change, Content, Store, StoreError, base_of, faults, live};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    Domain, FaultAction, InboxId, MessageId, OutgoingId, ProjectId, SharedAddress, Timestamp,
};

/// The notifications of bounces are limited for this time.
const MINUTE: Duration = Duration::from_secs(60);

/// One message for one or more inboxes.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The recipients, and who sends the message.
    pub request: Request,
    pub content: Content,
    /// The change of an outgoing item that is made in the same transaction.
    pub outgoing: Option<OutgoingChange>,
}

/// How a delivery changes an outgoing item.
#[derive(Clone, Debug)]
pub enum OutgoingChange {
    /// The delivery sends the item. The item is stored with it.
    Add(NewOutgoing),
    /// The delivery reports the outcome of an attempt to send the item. Its request names the item
    /// as its lease.
    Settle(Settlement),
}

/// The settings for all deliveries of a batch.
#[derive(Clone, Debug)]
pub struct Policy {
    pub now: Timestamp,
    /// The lifetime of an inbox that a delivery creates.
    pub lifetime: Duration,
    /// Maximum number of messages in one inbox.
    pub inbox_messages: u64,
    /// The owner of inboxes that a delivery without a project creates.
    pub default_project: ProjectId,
    /// The domain of every inbox.
    pub mail_domain: Domain,
}

impl Policy {
    /// The same settings at another time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        Self {
            now,
            ..self.clone()
        }
    }
}

/// How long a transaction waits for an inbox that another one has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Half a second; then the transaction fails with a lock timeout.
    WaitBriefly,
    /// Not at all: such an inbox is a fact, and its mail is not decided.
    Skip,
}

/// The facts of a batch, and the numbers of its inboxes.
#[derive(Debug)]
pub struct Loaded {
    pub facts: Facts,
    numbers: BTreeMap<InboxId, i64>,
}

/// The state at `$2` of the inboxes of a condition.
macro_rules! inbox_state {
    ($condition:literal, $lock:literal) => {
        concat!(
            "SELECT id, number, project_id, message_count, last_sequence, COALESCE(faults_left, 0), is_live,
                -- The inboxes of a project end with it.
                CASE WHEN is_live = 1 THEN 0
                    ELSE (SELECT COUNT(*) FROM projects WHERE id = project_id AND deleted_at IS NOT NULL) END
                AS is_deleted, address,
                CASE WHEN is_live = 1 THEN 0
                    ELSE (SELECT COUNT(*) FROM inboxes AS tagged WHERE tagged.base = inbox.id AND ",
            live!("tagged.", "$2"),
            ") END
             FROM (SELECT inboxes.*, CASE WHEN ",
            live!("$2"),
            " THEN 1 ELSE 0 END AS is_live FROM inboxes WHERE ",
            $condition,
            " ",
            $lock,
            ") AS inbox"
        )
    };
}

/// The inboxes with the address `$1`, of one project or of all. Of all, the first few are enough:
/// the live ones, that of the default project `$3`, and two others.
const SHARED_BY_PROJECT: &str = inbox_state!("address = $1 AND project_id = $3", "");
const SHARED_BY_ALL: &str = concat!(
    inbox_state!("address = $1", ""),
    " ORDER BY is_live DESC, CASE WHEN project_id = $3 THEN 0 ELSE 1 END, is_deleted LIMIT 4"
);

impl Store {
    /// The inbox that would get mail to `recipient` now, from a sender that authenticated with a
    /// key of `sender`; `None` if the mail would create one with a shared address.
    pub async fn check_recipient(
        &self,
        recipient: &Recipient,
        sender: Option<ProjectId>,
        policy: &Policy,
    ) -> Result<Result<Option<InboxId>, Refusal>, StoreError> {
        const STATE: &str = inbox_state!("id = $1", "");
        let mut loaded = policy.nothing_loaded();
        for meant in recipient.meant() {
            let rows = match meant {
                Recipient::Inbox(id) => {
                    self.database
                        .look_up(STATE, values![&id, policy.now])
                        .await?
                }
                Recipient::Shared(address) => {
                    let (sql, parameters) = shared_lookup(&address, sender, policy);
                    self.database.look_up(sql, parameters).await?
                }
            };
            for row in rows {
                loaded.add(read_address(row)?);
            }
        }
        Ok(check(&loaded.facts, recipient, sender))
    }
}

fn shared_lookup(
    address: &SharedAddress,
    project: Option<ProjectId>,
    policy: &Policy,
) -> (&'static str, Vec<Value>) {
    let sql = if project.is_some() {
        SHARED_BY_PROJECT
    } else {
        SHARED_BY_ALL
    };
    (
        sql,
        values![
            address,
            policy.now,
            project.unwrap_or(policy.default_project)
        ],
    )
}

/// Locks the inboxes of a batch in the order of their ids, and reads what decides about its
/// deliveries.
///
/// # Errors
/// If the database fails, or an inbox stays locked.
pub async fn load(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    policy: &Policy,
    locking: Locking,
) -> Result<Loaded, StoreError> {
    const FREE: &str = inbox_state!("id = $1", "{skip_locked}");
    const ANY: &str = inbox_state!("id = $1", "{for_update}");
    transaction.wait_briefly();
    let sql = if locking == Locking::Skip { FREE } else { ANY };
    let requests = || deliveries.iter().map(|delivery| &delivery.request);
    let mut loaded = find_shared(transaction, requests(), policy).await?;
    let ids = loaded.facts.inboxes(requests());
    let found = transaction
        .query_many(sql, ids.iter().map(|id| values![id, policy.now]).collect())
        .await?;
    let mut missing = Vec::new();
    let mut faulty = Vec::new();
    for (id, rows) in ids.into_iter().zip(found) {
        let Some(row) = rows.into_iter().next() else {
            loaded.facts.addresses.remove(&id);
            missing.push(id);
            continue;
        };
        let row = read_address(row)?;
        if row.has_faults {
            faulty.push((id.clone(), row.number));
        }
        loaded.numbers.insert(id, row.number);
        loaded.add(row);
    }
    if locking == Locking::Skip {
        find_locked(transaction, missing, &mut loaded.facts).await?;
    }
    let senders = requests()
        .filter_map(|request| request.source.project())
        .collect();
    find_tags(transaction, &senders, &mut loaded.facts, policy.now).await?;
    load_faults(transaction, faulty, &mut loaded.facts, policy.now).await?;
    loaded.facts.held_leases = queue::held_leases(transaction, settlements(deliveries)).await?;
    Ok(loaded)
}

/// Looks for the live tags of reserved addresses that another project sends to, now that these are
/// locked: the statement that waited for the locks saw the tags of before.
async fn find_tags(
    transaction: &mut Transaction,
    senders: &BTreeSet<ProjectId>,
    facts: &mut Facts,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    const TAGGED: &str = concat!(
        "SELECT 1 FROM inboxes WHERE base = $1 AND ",
        live!("$2"),
        " LIMIT 1"
    );
    let reserved = facts
        .addresses
        .iter_mut()
        .filter_map(|(id, address)| match address {
            Address::Reserved(reservation)
                if senders.iter().any(|one| *one != reservation.owner) =>
            {
                Some((id, reservation))
            }
            _ => None,
        });
    let (ids, reservations): (Vec<_>, Vec<_>) = reserved.unzip();
    if ids.is_empty() {
        return Ok(());
    }
    let parameters = ids.iter().map(|id| values![*id, now]).collect();
    let found = transaction.query_many(TAGGED, parameters).await?;
    for (reservation, rows) in reservations.into_iter().zip(found) {
        reservation.has_live_tags = !rows.is_empty();
    }
    Ok(())
}

/// Reads the inboxes with the shared addresses of a batch, without locks. If it has none, this
/// needs no statement.
async fn find_shared<'a>(
    transaction: &mut Transaction,
    requests: impl Iterator<Item = &'a Request>,
    policy: &Policy,
) -> Result<Loaded, StoreError> {
    let mut loaded = policy.nothing_loaded();
    let mut lookups: BTreeMap<&'static str, Vec<Vec<Value>>> = BTreeMap::new();
    for (address, project) in Request::shared_addresses(requests) {
        let (sql, parameters) = shared_lookup(&address, project, policy);
        lookups.entry(sql).or_default().push(parameters);
    }
    for (sql, parameters) in lookups {
        for row in transaction
            .query_many(sql, parameters)
            .await?
            .into_iter()
            .flatten()
        {
            loaded.add(read_address(row)?);
        }
    }
    Ok(loaded)
}

/// Makes the writes of a decision. The transaction is the one that loaded the facts.
///
/// # Errors
/// If the database fails. The transaction can then only be dropped. If another transaction has
/// created one of the inboxes since the facts were loaded, that is an error of the commit:
/// [`DatabaseError::Conflict`].
pub async fn apply(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    loaded: Loaded,
    decision: &Decision,
    policy: &Policy,
) -> Result<(), StoreError> {
    let openings = &decision.writes.openings;
    let messages = &decision.writes.messages;
    let mut numbers = loaded.numbers;
    let mut received = count_received(messages);
    open_inboxes(transaction, openings, &mut received, &mut numbers, policy).await?;
    change_outgoing(transaction, deliveries, decision, policy).await?;
    raise_sequences(transaction, received, &numbers, policy.now).await?;
    write_messages(transaction, deliveries, messages, &numbers, policy.now).await?;
    faults::write_uses(transaction, &decision.writes.uses, &numbers, policy.now).await?;
    for change in &decision.changes {
        transaction.notify(match change {
            Arrival::Inbox(id) => Change::Inbox(id.clone()),
            Arrival::Full(id) => Change::InboxFull(id.clone()),
        });
    }
    Ok(())
}

impl Policy {
    /// The facts if every address is free.
    fn nothing_loaded(&self) -> Loaded {
        let policy = restante_delivery::Policy {
            capacity: self.inbox_messages,
            default_project: self.default_project,
        };
        Loaded {
            facts: Facts::new(policy),
            numbers: BTreeMap::new(),
        }
    }
}

impl Loaded {
    fn add(&mut self, row: AddressRow) {
        if let Some(shared) = row.shared {
            self.facts.shared.insert(shared, row.owner, row.id.clone());
        }
        self.facts.addresses.insert(row.id, row.address);
    }
}

struct AddressRow {
    id: InboxId,
    number: i64,
    owner: ProjectId,
    /// Its address, if that is not on the mail domain.
    shared: Option<SharedAddress>,
    address: Address,
    has_faults: bool,
}

fn read_address(mut row: Row) -> Result<AddressRow, DatabaseError> {
    let id = row.get()?;
    let number = row.get()?;
    let owner = row.get()?;
    let messages = row.get()?;
    let last_sequence = row.get()?;
    let faults_left: i64 = row.get()?;
    let is_live = row.get()?;
    let owner_is_deleted = row.get()?;
    let shared = row.get()?;
    let has_live_tags = row.get()?;
    let address = if is_live {
        Address::Live(Inbox::new(owner, messages, last_sequence))
    } else {
        Address::Reserved(Reservation {
            owner,
            owner_is_deleted,
            has_live_tags,
            last_sequence,
        })
    };
    Ok(AddressRow {
        id,
        number,
        owner,
        shared,
        address,
        has_faults: is_live && faults_left > 0,
    })
}

/// Of the addresses that were not found, those that exist are locked by other transactions.
async fn find_locked(
    transaction: &mut Transaction,
    missing: Vec<InboxId>,
    facts: &mut Facts,
) -> Result<(), DatabaseError> {
    const EXISTS: &str = "SELECT 1 FROM inboxes WHERE id = $1";
    let found = transaction
        .query_many(EXISTS, missing.iter().map(|id| values![id]).collect())
        .await?;
    let locked = missing
        .into_iter()
        .zip(found)
        .filter(|(_, rows)| !rows.is_empty());
    facts
        .addresses
        .extend(locked.map(|(id, _)| (id, Address::Locked)));
    Ok(())
}

/// Reads the faults of those inboxes that have some left, and how many notifications they have
/// caused in the last minute. If none has faults, this needs no statement.
async fn load_faults(
    transaction: &mut Transaction,
    faulty: Vec<(InboxId, i64)>,
    facts: &mut Facts,
    now: Timestamp,
) -> Result<(), StoreError> {
    if faulty.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = faulty.iter().map(|(_, number)| *number).collect();
    let pending = faults::pending(transaction, &numbers).await?;
    for ((id, _), pending) in faulty.into_iter().zip(pending) {
        let bounces = pending
            .iter()
            .any(|pending| pending.fault.action == FaultAction::Bounce);
        let Some(Address::Live(inbox)) = facts.addresses.get_mut(&id) else {
            continue;
        };
        inbox.faults = pending.into();
        if bounces {
            let caused =
                outgoing::recent_reports(transaction, inbox.owner, &id, now.before(MINUTE)).await?;
            inbox.notifications_left = inbox.notifications_left.saturating_sub(caused);
        }
    }
    Ok(())
}

fn settlements(deliveries: &[Delivery]) -> impl Iterator<Item = &Settlement> {
    deliveries
        .iter()
        .filter_map(|delivery| match &delivery.outgoing {
            Some(OutgoingChange::Settle(settlement)) => Some(settlement),
            Some(OutgoingChange::Add(_)) | None => None,
        })
}

/// How many messages each inbox gets.
fn count_received(messages: &[NewMessage]) -> BTreeMap<&InboxId, i64> {
    let mut received = BTreeMap::new();
    for message in messages {
        *received.entry(&message.inbox).or_default() += 1;
    }
    received
}

/// Creates or reopens inboxes, in the order of their addresses, which avoids deadlocks. An inbox
/// that is created has the messages that it gets counted from the beginning, so it is taken out of
/// `received`.
async fn open_inboxes(
    transaction: &mut Transaction,
    openings: &[Opening],
    received: &mut BTreeMap<&InboxId, i64>,
    numbers: &mut BTreeMap<InboxId, i64>,
    policy: &Policy,
) -> Result<(), StoreError> {
    const CREATE: &str = "
        INSERT INTO inboxes (number, id, project_id, created_at, expires_at, address, last_sequence, message_count,
            last_received_at, kind, opened_by_mail, base, closed)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $4, 'temporary', 1, $8, $9)";
    const REOPEN: &str = "
        UPDATE inboxes SET project_id = $2, kind = 'temporary', created_at = $3, expires_at = $4, deleted_at = NULL,
            opened_by_mail = 1, label = NULL, closed = 0, message_count = 0, emptied_sequence = last_sequence,
            faults_left = CASE WHEN faults_left IS NULL THEN NULL ELSE -1 END
        WHERE id = $1";
    let mut sorted: Vec<&Opening> = openings.iter().collect();
    sorted.sort_by_key(|opening| {
        let shared = opening
            .address
            .as_ref()
            .map(|address| (address, opening.owner));
        (shared, &opening.inbox)
    });
    let expires_at = policy.now.after(policy.lifetime);
    let mut create = Vec::new();
    let mut created = Vec::new();
    let mut reopen = Vec::new();
    for Opening {
        inbox,
        address,
        owner,
        was_reserved,
        only_reserves,
    } in sorted
    {
        if *was_reserved {
            reopen.push(values![inbox, *owner, policy.now, expires_at]);
        } else {
            let messages = received.remove(inbox).unwrap_or_default();
            create.push(values![
                None::<i64>,
                inbox,
                *owner,
                policy.now,
                (!only_reserves).then_some(expires_at),
                address.as_ref(),
                messages,
                base_of(inbox, address.as_ref()).as_ref(),
                *only_reserves
            ]);
            created.push(inbox.clone());
        }
    }
    transaction.queue_many(REOPEN, reopen).await?;
    numbers.extend(
        created.into_iter().zip(
            transaction
                .insert_numbered("inboxes", CREATE, create)
                .await?,
        ),
    );
    Ok(())
}

/// Writes the changes of outgoing items, and queues the notifications of bounces.
async fn change_outgoing(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    decision: &Decision,
    policy: &Policy,
) -> Result<(), StoreError> {
    let mut added = Vec::new();
    for (request, notification) in &decision.writes.notifications {
        let content = &deliveries[*request].content;
        let bytes = content.beginning()?;
        let arrived_at = policy.now.to_rfc5322();
        let original = Original {
            subject: content.subject(),
            bytes: &bytes,
            arrived_at: &arrived_at,
        };
        let raw = notification.compose(&original, &policy.mail_domain);
        let item = NewOutgoing::new(
            OutgoingId(notification.id),
            notification.project,
            notification.inbox.clone(),
            notification.to.clone(),
            notification.subject(&original),
            notification.message_id(&policy.mail_domain),
        );
        added.push(
            item.as_report()
                .queued(&raw, policy.now.after(QUEUE_LIFETIME)),
        );
    }
    for (delivery, verdict) in deliveries.iter().zip(&decision.verdicts) {
        let Some(change) = delivery
            .outgoing
            .as_ref()
            .filter(|_| matches!(verdict, Verdict::Accepted { .. }))
        else {
            continue;
        };
        match change {
            OutgoingChange::Add(item) => added.push(item.clone()),
            OutgoingChange::Settle(settlement) => {
                queue::settle(transaction, settlement).await?;
            }
        }
    }
    Ok(outgoing::insert(transaction, added.iter(), policy.now).await?)
}

/// Raises the sequences of inboxes that receive messages.
pub(super) async fn raise_sequences(
    transaction: &mut Transaction,
    received: BTreeMap<&InboxId, i64>,
    numbers: &BTreeMap<InboxId, i64>,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    const RAISE: &str = "
        UPDATE inboxes SET last_sequence = last_sequence + $2, message_count = message_count + $2, last_received_at = $3
        WHERE number = $1";
    let mut raised = Vec::with_capacity(received.len());
    for (inbox, count) in received {
        raised.push(values![
            *numbers.get(inbox).ok_or(DatabaseError::NoRow)?,
            count,
            now
        ]);
    }
    transaction.queue_many(RAISE, raised).await
}

/// Writes messages and their contents.
pub(super) async fn write_messages(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    messages: &[NewMessage],
    numbers: &BTreeMap<InboxId, i64>,
    now: Timestamp,
) -> Result<(), StoreError> {
    const INSERT: &str = "
        INSERT INTO messages (id, inbox_number, sequence, content_number, is_shared, parsed_size, raw_size, received_at,
            has_otp, has_link, code, sender, subject, subject_folded, attachments, project_id,
            recipients)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    let stored: BTreeSet<usize> = messages.iter().map(|message| message.request).collect();
    let contents = stored.iter().map(|request| &deliveries[*request].content);
    let content_numbers = insert_contents(transaction, contents).await?;
    let content_numbers: BTreeMap<usize, i64> = stored.into_iter().zip(content_numbers).collect();
    let mut rows = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let number = *numbers.get(&message.inbox).ok_or(DatabaseError::NoRow)?;
        // The messages of a request are next to one another.
        let is_beside = |other: Option<&NewMessage>| {
            other.is_some_and(|other| other.request == message.request)
        };
        let is_shared = is_beside(messages.get(index + 1)) || is_beside(messages[..index].last());
        let content = &deliveries[message.request].content;
        let content_number = content_numbers.get(&message.request).copied();
        rows.push(message_row(
            message,
            number,
            content,
            content_number,
            is_shared,
            now,
        ));
    }
    transaction.queue_many(INSERT, rows).await?;
    Ok(())
}

fn message_row(
    message: &NewMessage,
    inbox_number: i64,
    content: &Content,
    content_number: Option<i64>,
    is_shared: bool,
    now: Timestamp,
) -> Vec<Value> {
    values![
        MessageId(message.place.message),
        inbox_number,
        message.place.sequence,
        content_number,
        is_shared,
        content.parsed_size,
        content.raw_size,
        now,
        content.has.otp,
        content.has.link,
        content.code.as_str(),
        content.sender.as_str(),
        content.subject.as_str(),
        content.subject_folded.as_str(),
        content.attachments,
        message.project,
        (!message.recipients.is_empty()).then(|| lines(&message.recipients)),
    ]
}

fn lines(recipients: &[Recipient]) -> String {
    let recipients: Vec<String> = recipients.iter().map(ToString::to_string).collect();
    recipients.join("\n")
}
