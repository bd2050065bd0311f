//! Every SQL statement, written once for all engines, in terms of the domain.
//!
//! A function here is one statement or one transaction. Nothing in here waits for anything but the database, and
//! nothing knows the time: `now` is always an argument.
//!
//! An inbox lives until its `expires_at`, or until it is closed by a deletion. From then on its row is a reservation of
//! the address for its project. Each statement that reads an inbox or a message has this in its condition, so that what
//! has expired is gone at that instant, before the sweeper removes it.

mod attempts;
mod change;
mod content;
mod copy;
mod deliveries;
mod inboxes;
mod messages;
mod outgoing;
mod overview;
mod plan;
mod projects;
mod queue;
mod reading;
mod refusals;
mod sessions;
mod settings;
mod sweep;
mod values;

use crate::db::{Database, DatabaseError, Locks, Notice, Transaction, Value};
use crate::memory::{Budget, Exhausted};
use crate::model::DamagedParts;

pub use change::Change;
pub(crate) use content::on_blocking_thread;
pub use content::{Content, Form};
pub use copy::{CopyError, Progress};
pub use deliveries::{BusyInbox, Delivery, DeliveryError, Outcome, Outcomes, OutgoingChange, Policy};
pub use messages::{Cursor, Page, Selection, Source};
pub use outgoing::{NewOutgoing, OutgoingFilter};
pub use overview::{InboxEnd, InboxFilter, Watched};
pub use queue::{Claim, Claimed, Due, Settlement};
pub use sweep::Swept;

/// The schema, step by step; a step that was released is never changed.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// Bytes of messages that are held at once, unless [`Store::with_budget`] says otherwise.
const DEFAULT_BUDGET: u64 = 256 * 1024 * 1024;

/// How often a transaction is tried that others keep ending.
const ATTEMPTS: usize = 5;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// There was no memory for a message that is to be read.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// A stored message cannot be read back.
    #[error("a stored message is damaged: {0}")]
    Damaged(&'static str),
    /// The stored parts of a message cannot be read back.
    #[error(transparent)]
    DamagedParts(#[from] DamagedParts),
    /// The parts of a message cannot be written as JSON.
    #[error("cannot write the parts of a message: {0}")]
    Json(#[source] serde_json::Error),
    /// Work on a thread of its own panicked, or the program ended first.
    #[error("a task of this program ended early: {0}")]
    Aborted(#[source] tokio::task::JoinError),
}

impl StoreError {
    /// Whether the database is unavailable or busy, so that the same can be tried again.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unavailable())
    }

    /// Whether another transaction held a lock for too long.
    #[must_use]
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::LockTimeout))
    }

    fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::Conflict(_)))
    }
}

/// Runs a transaction, and runs it again if the engine has ended it in favour of another one: a deadlock, or two that
/// cannot be ordered. The engine has then undone all of it.
async fn until_undisturbed<T, F>(transaction: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..ATTEMPTS {
        match transaction().await {
            Err(error) if error.is_conflict() => {}
            ended => return ended,
        }
    }
    transaction().await
}

/// The projects, inboxes and messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
    budget: Budget,
}

impl Store {
    /// The version of the schema that [`Store::open`] brings a database to.
    pub const SCHEMA_VERSION: usize = MIGRATIONS.len();

    /// Brings the schema of `database` up to date.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] if a newer program has changed it; what a migration fails with.
    pub async fn open(database: Database) -> Result<Self, StoreError> {
        database.migrate(MIGRATIONS).await?;
        Ok(Self { database, budget: Budget::new(DEFAULT_BUDGET) })
    }

    /// The same store with this budget for the messages that are read.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The budget for the messages that are read.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Runs one statement in a transaction of its own, and announces `change`; returns how many rows it changed.
    async fn change(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        change: Option<Change>,
    ) -> Result<u64, StoreError> {
        let run = async move |mut transaction: Transaction| {
            let rows = transaction.execute(sql, parameters).await?;
            change.into_iter().for_each(|change| transaction.notify(change.key()));
            transaction.commit().await?;
            Ok(rows)
        };
        self.database.transact(run).await
    }

    /// Calls `listener` with what each committed transaction has changed, from now on; it must not wait for anything.
    pub fn listen(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.database.listen(move |notices: &[Notice]| {
            let changes: Vec<Change> = notices.iter().map(Change::of_notice).collect();
            listener(&changes);
        });
    }

    /// Closes the database after the transactions that are queued.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// The locks that all nodes share.
    #[must_use]
    pub fn locks(&self) -> &Locks {
        self.database.locks()
    }

    /// Runs a small query.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.database.query("SELECT COUNT(*) FROM projects WHERE is_default = 1", vec![]).await?;
        Ok(())
    }
}
