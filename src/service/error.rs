//! Why requests of callers, SMTP clients and administrators are rejected. The HTTP and SMTP layers
//! choose the codes.

use crate::jobs::Busy;
use crate::store::StoreError;
use restante_delivery::Refusal;
use restante_smtp::Refusal as Reason;

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
    /// A wait with a timeout of zero found no message.
    #[error("no matching message")]
    NoMatchingMessage,
    /// A wait ended without a match.
    #[error("timeout")]
    Timeout {
        /// The id of its story, unless there are too many.
        story: Option<uuid::Uuid>,
    },
    /// The cursor `after` is not a message of the inbox.
    #[error("invalid after")]
    InvalidAfter,
    /// The cursor `before` is not a message of the inbox.
    #[error("invalid before")]
    InvalidBefore,
    /// A caller may not delete a permanent inbox.
    #[error("permanent inboxes are managed in the dashboard")]
    PermanentInbox,
    /// The key has as many open waits as are allowed.
    #[error("too many concurrent waits")]
    TooManyWaits,
    /// The key has as many running sends as are allowed.
    #[error("too many concurrent sends")]
    TooManySends,
    /// The dashboard session, or the key, has as many live streams as are allowed.
    #[error("too many open dashboard pages or streams: close some")]
    TooManyStreams,
    /// Too many requests of this kind run at the moment.
    #[error("the service is busy")]
    Busy,
    /// The caller's key is no longer valid.
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
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Busy> for ServiceError {
    fn from(Busy: Busy) -> Self {
        Self::Busy
    }
}

impl From<DeliverError> for ServiceError {
    fn from(error: DeliverError) -> Self {
        match error {
            DeliverError::Refused(Refusal::Full(_)) => Self::RecipientFull,
            DeliverError::Refused(
                Refusal::Disabled(_)
                | Refusal::Foreign(_)
                | Refusal::NoInbox(_)
                | Refusal::Ambiguous(_),
            ) => Self::RecipientNotFound,
            DeliverError::Stopping => Self::Stopping,
            // Mail of the service never bounces.
            DeliverError::Refused(Refusal::TooManyBounces(_)) | DeliverError::Unavailable => {
                Self::Unavailable
            }
            DeliverError::Store(error) => Self::Store(error),
        }
    }
}

/// Why a recipient or a message is rejected.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// An inbox does not take it.
    #[error(transparent)]
    Refused(Refusal),
    /// The database is unavailable.
    #[error("the database is unavailable")]
    Unavailable,
    /// The service is stopping and accepts no more messages.
    #[error("the service is stopping")]
    Stopping,
    #[error(transparent)]
    Store(StoreError),
}

impl DeliverError {
    /// The reason that the client is told.
    #[must_use]
    pub fn refusal(&self) -> Reason {
        match self {
            Self::Refused(Refusal::Full(_)) => Reason::InboxFull,
            Self::Refused(Refusal::Ambiguous(_)) => Reason::AmbiguousRecipient,
            Self::Refused(Refusal::Disabled(_) | Refusal::Foreign(_) | Refusal::NoInbox(_)) => {
                Reason::MailboxDisabled
            }
            // Not 421, which ends an SMTP session. If the receiver stops, the connection sends 421.
            Self::Refused(Refusal::TooManyBounces(_))
            | Self::Stopping
            | Self::Unavailable
            | Self::Store(_) => Reason::StoreFailure,
        }
    }
}

impl From<StoreError> for DeliverError {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() {
            Self::Unavailable
        } else {
            Self::Store(error)
        }
    }
}

/// Why a change to the projects was rejected.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Another project has the name.
    #[error("there is already a project named {0}")]
    Exists(String),
    /// No project has the name.
    #[error("there is no project named {0}")]
    NotFound(String),
    /// The default project cannot be deleted.
    #[error(
        "the default project cannot be deleted: it owns the inboxes that incoming mail creates"
    )]
    Default,
    /// The name is too long, empty, or has characters that cannot be displayed or typed.
    #[error(
        "a project name must have 1 to 100 characters, without control characters or leading or trailing spaces"
    )]
    InvalidName,
    /// Another project uses the chosen key.
    #[error("this API key belongs to another project: choose a different one")]
    KeyTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
}
