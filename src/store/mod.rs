//! Every SQL statement, written once for all engines, in terms of the domain.
//!
//! A function here is one statement or one transaction. Nothing in here waits for anything but the database, and
//! nothing knows the time: `now` is always an argument.
//!
//! An inbox lives until its `expires_at`; from then on its row is a reservation of the address for its project.
//! Whatever reads an inbox or a message says so in its condition, so that what has expired is gone at that instant,
//! whenever the sweeper comes by.

mod attempts;
mod content;
mod copy;
mod deliveries;
mod inboxes;
mod messages;
mod outgoing;
mod overview;
mod projects;
mod queue;
mod refusals;
mod sessions;
mod settings;
mod sweep;

use tokio::sync::MutexGuard;

use crate::db::{Change, Database, DatabaseError, Locks, Transaction, Value};

pub use content::Content;
pub(crate) use content::aside;
pub use copy::{CopyError, Progress};
pub use deliveries::{Batch, Delivery, DeliveryError, Outcome, OutgoingChange, Policy};
pub use messages::{Cursor, Page, Selection};
pub use outgoing::{NewOutgoing, OutgoingFilter};
pub use overview::{InboxFilter, Watched};
pub use queue::{Claim, Claimed, Due, Settlement};
pub use sweep::Swept;

/// What is announced where the queue of the mail worker has something new. No inbox has such an id.
pub const QUEUE_CHANGED: &str = "outgoing:queue";

/// The schema, step by step; a step that was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_sending.sql"),
    include_str!("migrations/0003_dashboard.sql"),
    include_str!("migrations/0004_attempts.sql"),
    include_str!("migrations/0005_emptied.sql"),
    include_str!("migrations/0006_messages_by_inbox.sql"),
    include_str!("migrations/0007_numbered_contents.sql"),
];

/// What is announced when sessions were closed. No inbox has a name with a space.
pub const SESSIONS_CHANGED: &str = "sessions changed";
/// What is announced when refusals were stored.
pub const REFUSALS_CHANGED: &str = "refusals changed";

/// How often a transaction is tried that others keep ending.
const ATTEMPTS: usize = 5;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A stored content cannot be read back.
    #[error("a stored message is damaged: {0}")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A content cannot be compressed.
    #[error("cannot compress a message: {0}")]
    Compression(#[source] std::io::Error),
}

impl StoreError {
    /// Whether the database, and not what it was asked, is what is wrong.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_absence())
    }
}

/// Runs a transaction, and runs it again where the engine has ended it in favour of another one: a deadlock, or two
/// that cannot stand one behind the other. The engine has then undone all of it.
async fn until_undisturbed<T, E, F>(transaction: impl Fn() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    E: Conflict,
{
    for _ in 1..ATTEMPTS {
        match transaction().await {
            Err(error) if error.is_conflict() => {}
            ended => return ended,
        }
    }
    transaction().await
}

/// An error that may say that a transaction was ended in favour of another one.
trait Conflict {
    fn is_conflict(&self) -> bool;
}

impl Conflict for StoreError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(DatabaseError::Conflict(_)))
    }
}

/// The projects, inboxes and messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
}

impl Store {
    /// The version of the schema that [`Store::open`] brings a database to.
    pub const SCHEMA_VERSION: usize = MIGRATIONS.len();

    /// Brings the schema of `database` up to date.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] where a newer program has been at it; whatever a migration fails with.
    pub async fn open(database: Database) -> Result<Self, StoreError> {
        database.migrate(MIGRATIONS).await?;
        Ok(Self { database })
    }

    /// Runs one statement in a transaction of its own, and announces `changed`; returns how many rows it changed.
    async fn change(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        changed: Option<String>,
    ) -> Result<u64, StoreError> {
        let change = async move |mut transaction: Transaction| {
            let rows = transaction.execute(sql, parameters).await?;
            changed.into_iter().for_each(|key| transaction.notify(key));
            transaction.commit().await?;
            Ok(rows)
        };
        self.database.transact(change).await
    }

    /// Calls `listener` with the ids of inboxes that have changed, and with [`QUEUE_CHANGED`], [`REFUSALS_CHANGED`] and
    /// [`SESSIONS_CHANGED`], from now on; it must not wait for anything.
    pub fn listen(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.database.listen(listener);
    }

    /// [`Database::turn`].
    pub async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.database.turn().await
    }

    /// The locks that all nodes share.
    #[must_use]
    pub fn locks(&self) -> &Locks {
        self.database.locks()
    }

    /// Asks the database for an answer.
    ///
    /// # Errors
    /// Where it has none.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.database.query("SELECT COUNT(*) FROM projects WHERE is_default = 1", vec![]).await?;
        Ok(())
    }
}
