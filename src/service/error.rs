//! Why requests of callers, mail clients and administrators are refused. The HTTP and SMTP layers choose the codes.

use crate::model::{DamagedParts, InboxId};
use crate::store::{Delivery, DeliveryError, StoreError};

/// Why a request of a caller failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no such live inbox, or it belongs to another project.
    #[error("inbox not found")]
    InboxNotFound,
    /// There is no such message, or it belongs to another project.
    #[error("message not found")]
    MessageNotFound,
    /// A recipient on the mail domain has no live inbox.
    #[error("recipient not found")]
    RecipientNotFound,
    /// The inbox of a recipient on the mail domain is full.
    #[error("recipient inbox is full")]
    RecipientFull,
    /// A wait with a timeout of zero found nothing.
    #[error("no matching message")]
    NoMatchingMessage,
    /// A wait ended without a match.
    #[error("timeout")]
    Timeout,
    /// The cursor `after` is not a message of the inbox.
    #[error("invalid after")]
    InvalidAfter,
    /// The cursor `before` is not a message of the inbox.
    #[error("invalid before")]
    InvalidBefore,
    /// A caller may not delete a permanent inbox.
    #[error("permanent inboxes are managed in the dashboard")]
    PermanentInbox,
    /// The key has the most open waits that are allowed.
    #[error("too many concurrent waits")]
    TooManyWaits,
    /// The key has the most running sends that are allowed.
    #[error("too many concurrent sends")]
    TooManySends,
    /// The dashboard session has the most open live streams that are allowed.
    #[error("too many live streams: close some of this dashboard's pages")]
    TooManyStreams,
    /// The caller's key has stopped working.
    #[error("unauthorized")]
    Unauthorized,
    /// The service is stopping.
    #[error("stopping")]
    Stopping,
    /// A message could not be composed.
    #[error("cannot compose the message: {0}")]
    Compose(#[from] restante_mail::compose::ComposeError),
    /// The database is unavailable.
    #[error("the database is unavailable")]
    Unavailable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DamagedParts> for ServiceError {
    fn from(error: DamagedParts) -> Self {
        Self::Store(error.into())
    }
}

impl From<DeliverError> for ServiceError {
    fn from(error: DeliverError) -> Self {
        match error {
            DeliverError::InboxFull(_) => Self::RecipientFull,
            DeliverError::Disabled(_) | DeliverError::NoInbox(_) => Self::RecipientNotFound,
            // Only the mail worker holds leases.
            DeliverError::Stopping | DeliverError::LeaseLost => Self::Stopping,
            DeliverError::InboxBusy(_) | DeliverError::Unavailable | DeliverError::BounceWanted { .. } => {
                Self::Unavailable
            }
            DeliverError::Store(error) => Self::Store(error),
        }
    }
}

/// Why a recipient or a message is refused.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The inbox is full.
    #[error("inbox {0} is full")]
    InboxFull(InboxId),
    /// The address is reserved for a project that was deleted.
    #[error("the project that owned {0} was deleted")]
    Disabled(InboxId),
    /// There is no such live inbox, and messages from this service create none.
    #[error("there is no inbox {0}")]
    NoInbox(InboxId),
    /// Another transaction holds the inbox.
    #[error("inbox {0} is held by another transaction")]
    InboxBusy(InboxId),
    /// The database is unavailable.
    #[error("the database is unavailable")]
    Unavailable,
    /// The service is stopping and accepts no more messages.
    #[error("the service is stopping")]
    Stopping,
    /// A fault makes the message bounce, and the delivery has no notification for its sender.
    #[error("the message has to bounce at inbox {inbox}")]
    BounceWanted {
        /// The inbox with the fault.
        inbox: InboxId,
        /// The delivery.
        delivery: Box<Delivery>,
    },
    /// The mail worker lost its lease on the outgoing item that a bounce belongs to.
    #[error("the lease on the outgoing item was lost")]
    LeaseLost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DeliveryError> for DeliverError {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::InboxFull(inbox) => Self::InboxFull(inbox),
            DeliveryError::ProjectDeleted(inbox) => Self::Disabled(inbox),
            DeliveryError::NoInbox(inbox) => Self::NoInbox(inbox),
            DeliveryError::InboxBusy(inbox) => Self::InboxBusy(inbox),
            DeliveryError::BounceWanted { inbox, delivery } => Self::BounceWanted { inbox, delivery },
            DeliveryError::LeaseLost => Self::LeaseLost,
        }
    }
}

/// Why a change to the projects was refused.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The name is taken.
    #[error("there is already a project named {0}")]
    Exists(String),
    /// No project has the name.
    #[error("there is no project named {0}")]
    NotFound(String),
    /// The default project cannot be deleted.
    #[error("the default project cannot be deleted: it owns the inboxes that mail opens by itself")]
    Default,
    /// The name is too long, empty, or has characters that cannot be shown or typed.
    #[error("a project's name has 1 to 100 characters, no control characters, and no space at its ends")]
    InvalidName,
    /// The chosen key is in use.
    #[error("this API key belongs to another project: choose a different one")]
    KeyTaken,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
