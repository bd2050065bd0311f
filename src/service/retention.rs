//! The retention of permanent inboxes, as the dashboard sets it.

use super::Service;
use crate::model::Inbox;
use crate::store::StoreError;

/// Maximum number of days that can be set: ten years.
const MAX_RETENTION_DAYS: i64 = 3_650;

/// Why a retention was not set.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The number is not in the range.
    #[error(
        "enter a number of days from 1 to {MAX_RETENTION_DAYS}, or leave the field empty to keep all messages"
    )]
    InvalidDays,
    /// There is no such inbox, or it is temporary.
    #[error("inbox not found")]
    InboxNotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Service {
    /// How many days the messages of an inbox are kept; `None` if they are kept until the inbox
    /// ends.
    pub async fn retention_days(&self, inbox: &Inbox) -> Result<Option<i64>, StoreError> {
        self.store().retention_days(inbox).await
    }

    /// Sets how many days the messages of a permanent inbox are kept; `None` keeps them until the
    /// inbox ends. The sweeper removes older messages.
    ///
    /// # Errors
    /// [`RetentionError`].
    pub async fn set_retention(
        &self,
        inbox: &Inbox,
        days: Option<i64>,
    ) -> Result<(), RetentionError> {
        if days.is_some_and(|days| !(1..=MAX_RETENTION_DAYS).contains(&days)) {
            return Err(RetentionError::InvalidDays);
        }
        let set = self.store().set_retention_days(inbox, days).await?;
        if set {
            Ok(())
        } else {
            Err(RetentionError::InboxNotFound)
        }
    }
}
