//! Lists, shows, retries and cancels outgoing items for administrators.

use std::collections::HashMap;

use crate::clock::Clock;
use crate::db::Database;
use crate::model::{Attempt, Outgoing, OutgoingFilter, OutgoingId, OutgoingStatus, ProjectId};
pub use crate::store::QUEUE_LIFETIME;
use crate::store::{Store, StoreError};

/// Why a change to an outgoing item was rejected.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// There is no such item.
    #[error("there is no outgoing item {0}")]
    NotFound(OutgoingId),
    /// An attempt to send it is running now.
    #[error("{0} is being sent now: try again in a minute")]
    BeingSent(OutgoingId),
    /// Its state does not allow the change.
    #[error("{id} is already {status}")]
    Settled {
        id: OutgoingId,
        status: OutgoingStatus,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The outgoing items. Commands also use them without a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outbox {
    pub(super) store: Store,
    pub(super) clock: Clock,
}

impl Outbox {
    /// Opens the outgoing items and migrates the database.
    ///
    /// # Errors
    /// If the database fails or its schema is newer than this program.
    pub async fn open(database: Database, clock: Clock) -> Result<Self, StoreError> {
        Ok(Self {
            store: Store::open(database).await?,
            clock,
        })
    }

    /// At most `limit` items, newest first.
    pub async fn list(
        &self,
        filter: &OutgoingFilter,
        limit: u32,
    ) -> Result<Vec<Outgoing>, OutboxError> {
        Ok(self.store.list_outgoing(filter, i64::from(limit)).await?)
    }

    /// The attempts of the `limit` newest items of a project, in chronological order for each item.
    pub async fn attempts(
        &self,
        project: ProjectId,
        limit: u32,
    ) -> Result<HashMap<OutgoingId, Vec<Attempt>>, OutboxError> {
        Ok(self.store.attempts(project, i64::from(limit)).await?)
    }

    /// An item of a project with its attempts in chronological order; `None` if it belongs to
    /// another project.
    pub async fn own(
        &self,
        project: ProjectId,
        id: OutgoingId,
    ) -> Result<Option<(Outgoing, Vec<Attempt>)>, StoreError> {
        let found = self
            .store
            .outgoing(id)
            .await?
            .filter(|item| item.project == project);
        let Some(item) = found else { return Ok(None) };
        Ok(Some((item, self.store.attempts_of(id).await?)))
    }

    /// One item.
    ///
    /// # Errors
    /// [`OutboxError::NotFound`].
    pub async fn find(&self, id: OutgoingId) -> Result<Outgoing, OutboxError> {
        self.store
            .outgoing(id)
            .await?
            .ok_or(OutboxError::NotFound(id))
    }

    /// Makes an item due now, with a full queue lifetime. It may be queued, failed or cancelled.
    ///
    /// # Errors
    /// [`OutboxError::NotFound`], [`OutboxError::BeingSent`]; [`OutboxError::Settled`] if it was
    /// sent.
    pub async fn retry(&self, id: OutgoingId) -> Result<(), OutboxError> {
        let now = self.clock.now();
        if self
            .store
            .retry_outgoing(id, now.after(QUEUE_LIFETIME), now)
            .await?
        {
            return Ok(());
        }
        Err(self.refusal(id).await?)
    }

    /// Removes a queued item from the queue, without a bounce.
    ///
    /// # Errors
    /// [`OutboxError::NotFound`], [`OutboxError::BeingSent`]; [`OutboxError::Settled`] if it is not
    /// queued.
    pub async fn cancel(&self, id: OutgoingId) -> Result<(), OutboxError> {
        if self.store.cancel_outgoing(id, self.clock.now()).await? {
            return Ok(());
        }
        Err(self.refusal(id).await?)
    }

    async fn refusal(&self, id: OutgoingId) -> Result<OutboxError, OutboxError> {
        let status = self.find(id).await?.status;
        Ok(match status {
            OutgoingStatus::Queued => OutboxError::BeingSent(id),
            status => OutboxError::Settled { id, status },
        })
    }
}
