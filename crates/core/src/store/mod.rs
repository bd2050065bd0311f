//! The store: all SQL statements, written once for all engines, as functions on the domain types.
//!
//! A function that writes is one transaction; a function that only reads may run several
//! statements. Functions wait only for the database and have no clock: `now` is always an argument.
//!
//! An inbox is live until its `expires_at`, or until a deletion closes it. After that, its row
//! reserves the address for its project. Each statement that reads an inbox or a message has this
//! condition, so that expired data can no longer be read, even before the sweeper removes it.

mod attempts;
mod comparing;
mod content;
mod copy;
mod deliveries;
mod details;
mod explanation;
mod faults;
mod inbox_list;
mod inbox_search;
mod inboxes;
mod journal;
mod messages;
mod nodes;
mod outgoing;
mod overview;
mod owners;
mod parts;
mod probe;
mod project_mail;
mod project_mail_removal;
mod projects;
mod queue;
mod read_mail;
mod reading;
mod removal;
mod repeatable;
mod retention;
mod search;
mod sessions;
mod settings;
mod sweep;
mod timeline;
mod values;

use crate::db::{Database, DatabaseError, Locks, Row, Transaction, Value};
use crate::large::Panicked;
pub use crate::model::Change;
use crate::model::{InboxId, SharedAddress};

pub use content::{Content, ContentForm, Origin};
pub use copy::{CopyError, Progress};
pub use deliveries::{Delivery, Loaded, Locking, OutgoingChange, Policy, apply, load};
pub use details::Everything;
pub use faults::RecipientFault;
pub use messages::{Head, MessageStart, StoredMessage};
pub use outgoing::{NewOutgoing, OUTGOING_PIECE, QUEUE_LIFETIME};
pub use owners::Holder;
pub use parts::PartsReader;
pub use project_mail::{MailEntries, MailEntry};
pub use queue::{Claim, Claimed, DomainQueue, Due, Settlement};
pub use reading::Pieces;
pub use repeatable::Repetition;
pub use search::Search;
pub use sweep::Swept;

use read_mail::ReadMail;

/// The migrations of the schema. A released migration is never changed.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// How often a transaction is tried if the engine ends it because of conflicts.
const ATTEMPTS: usize = 5;

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A stored message cannot be decoded.
    #[error("a stored message is damaged: {0}")]
    Damaged(&'static str),
    /// The parts of a stored message have a version that this program does not read.
    #[error(
        "a stored message has version {0}, which this program cannot read; another version of it stored it"
    )]
    UnknownVersion(u8),
    /// The message was removed while it was read.
    #[error("the message was removed while it was read")]
    Removed,
    /// Work on a message panicked.
    #[error("a task of this program ended early: {0}")]
    Aborted(#[from] Panicked),
}

impl StoreError {
    /// Whether the database is unavailable or busy, so that the operation can be retried.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unavailable())
    }

    /// Whether another transaction held a lock for too long.
    #[must_use]
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::LockTimeout))
    }

    /// Whether the transaction was rolled back, so that it can be repeated: because of a conflict
    /// with another one, or because a statement was cancelled.
    #[must_use]
    pub fn was_rolled_back(&self) -> bool {
        matches!(
            self,
            Self::Database(DatabaseError::Conflict(_) | DatabaseError::Cancelled)
        )
    }
}

/// The column `base` of an inbox with this id and shared address.
fn base_of(id: &InboxId, shared: Option<&SharedAddress>) -> Option<InboxId> {
    id.without_tag().filter(|_| shared.is_none())
}

/// The condition that the inbox in a row is live, for a statement with the current time in the
/// parameter `$now`. `$row` is the name of the row with a dot, if the statement has several tables.
macro_rules! live {
    ($now:literal) => {
        $crate::store::live!("", $now)
    };
    ($row:literal, $now:literal) => {
        concat!(
            $row,
            "closed = 0 AND (",
            $row,
            "expires_at IS NULL OR ",
            $row,
            "expires_at > ",
            $now,
            ")"
        )
    };
}
pub(crate) use live;

/// Runs a transaction, and repeats it if the engine has rolled it back because of a conflict with
/// another one.
async fn until_undisturbed<T, F>(transaction: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..ATTEMPTS {
        match transaction().await {
            Err(error) if error.was_rolled_back() => {}
            ended => return ended,
        }
    }
    transaction().await
}

/// The projects, inboxes and messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
    read_mail: ReadMail,
}

impl Store {
    /// The schema version that [`Store::open`] migrates to.
    pub const SCHEMA_VERSION: usize = MIGRATIONS.len();

    /// Migrates the schema of `database`.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] if a newer program has changed it; the error of a migration.
    pub async fn open(database: Database) -> Result<Self, StoreError> {
        database.migrate(MIGRATIONS).await?;
        Ok(Self {
            database,
            read_mail: ReadMail::default(),
        })
    }

    /// Runs `work` in a transaction, as [`Database::transact`] does.
    ///
    /// # Errors
    /// The error of `work`, or of the database.
    pub async fn transact<T, F>(
        &self,
        work: impl FnOnce(Transaction) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.database.transact(work).await
    }

    /// All rows of a statement.
    async fn all<T>(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        read: impl Fn(&mut Row) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.database.query(sql, parameters).await?;
        Ok(Row::all(rows, read)?)
    }

    /// The first row of a statement that finds few rows with an index, if there is one.
    async fn first<T>(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        read: impl Fn(&mut Row) -> Result<T, DatabaseError>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.database.look_up(sql, parameters).await?;
        Ok(Row::first(rows, read)?)
    }

    /// The row of a statement that always returns one.
    async fn only<T>(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        read: impl Fn(&mut Row) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let rows = self.database.query(sql, parameters).await?;
        Ok(Row::only(rows, read)?)
    }

    /// Runs one statement in its own transaction, and announces `change`; returns how many rows it
    /// changed.
    async fn change(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        change: Option<Change>,
    ) -> Result<u64, StoreError> {
        let run = async move |mut transaction: Transaction| {
            let rows = transaction.execute(sql, parameters).await?;
            change
                .into_iter()
                .for_each(|change| transaction.notify(change));
            transaction.commit().await?;
            Ok(rows)
        };
        self.database.transact(run).await
    }

    /// Calls `listener` with the changes of each later committed transaction. The listener must not
    /// block.
    pub fn listen(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.database.listen(listener);
    }

    /// Closes the database after the queued transactions.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// The locks that all nodes share.
    #[must_use]
    pub fn locks(&self) -> &Locks {
        self.database.locks()
    }
}
