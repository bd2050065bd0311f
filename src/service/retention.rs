//! The retention of permanent inboxes, as the dashboard sets it.

use super::{Service, ServiceError};
use crate::model::Inbox;
use crate::store::StoreError;

/// The most days that can be set: ten years.
const MOST_RETENTION_DAYS: i64 = 3_650;

/// Why a retention was not set.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The text is not a number in the range.
    #[error("enter a number of days from 1 to {MOST_RETENTION_DAYS}, or leave the field empty to keep all messages")]
    InvalidDays,
    /// There is no such inbox, or it is temporary.
    #[error(transparent)]
    Inbox(#[from] ServiceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Service {
    /// How many days the messages of an inbox are kept; `None` if they are kept until the inbox ends.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retention_days(&self, inbox: &Inbox) -> Result<Option<i64>, StoreError> {
        self.0.store.retention_days(inbox).await
    }

    /// Sets how many days the messages of a permanent inbox are kept, from the text of a form. An empty text keeps them
    /// until the inbox ends. The sweeper removes older messages.
    ///
    /// # Errors
    /// [`RetentionError`].
    pub async fn set_retention(&self, inbox: &Inbox, days: &str) -> Result<(), RetentionError> {
        let days = match days.trim() {
            "" => None,
            days => {
                let days = days.parse().ok().filter(|days| (1..=MOST_RETENTION_DAYS).contains(days));
                Some(days.ok_or(RetentionError::InvalidDays)?)
            }
        };
        let set = self.0.store.set_retention_days(inbox, days).await?;
        if set { Ok(()) } else { Err(ServiceError::InboxNotFound.into()) }
    }
}
