//! (sketch of the interface; bodies come later)
#![allow(missing_docs, clippy::missing_errors_doc, dead_code)]
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::db::Database;
use crate::model::{
    ApiKey, Domain, EmailAddress, Inbox, InboxId, KeyHash, Message, MessageId, OutgoingId, Project, ProjectId,
};
use crate::store::StoreError;

/// What the service needs to be told.
#[derive(Clone, Debug)]
pub struct Options {
    pub mail_domain: Domain,
    pub inbox_lifetime: Duration,
    /// messages in one inbox
    pub inbox_messages: u64,
}

/// Whoever calls, by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub project: ProjectId,
    pub key: KeyHash,
}

/// What a caller can be told no for. `http/error.rs` alone knows the status codes and error texts.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("inbox not found")]
    InboxNotFound,
    #[error("message not found")]
    MessageNotFound, // also an unknown in_reply_to
    #[error("recipient not found")]
    RecipientNotFound, // local recipient without a live inbox
    #[error("no matching message")]
    NoMatchingMessage, // wait with timeout 0
    #[error("timeout")]
    Timeout, // wait ended without a match
    #[error("invalid after")]
    InvalidAfter,
    #[error("invalid before")]
    InvalidBefore, // the list's extension
    #[error("permanent inbox")]
    PermanentInbox,
    #[error("too many concurrent waits")]
    TooManyWaits,
    #[error("too many concurrent sends")]
    TooManySends,
    #[error("stopping")]
    Stopping, // 503 with Retry-After, only at the end of the grace
    #[error("cannot compose")]
    Compose, // 500
    #[error(transparent)]
    Store(#[from] StoreError), // 500
}

/// Which messages a list or a wait is about. `subject` is a case-insensitive substring; `after`/`before` are message ids as given.
#[derive(Clone, Debug, Default)]
pub struct MessageFilter {
    pub subject: Option<String>,
    pub after: Option<String>,
}

/// A list with the extensions.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    pub matching: MessageFilter,
    pub before: Option<String>,
    pub limit: Option<u64>,
}

/// The messages of one list, newest first, read a page at a time (memory bounded by one page of at most about 1 MiB, or one message).
pub struct MessagePages(());
impl MessagePages {
    /// The next page; `None` behind the last one. Never an empty page.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Message>>, ServiceError> {
        std::future::pending().await
    }
}

/// A message that a caller wants sent. Already checked: no CR, LF or NUL in `subject`; `to` is a bare address.
#[derive(Clone, Debug)]
pub struct Draft {
    pub to: EmailAddress,
    pub subject: String,
    pub text: String,
    pub html: String,
    /// Message id as given
    pub in_reply_to: Option<String>,
}

/// A message that SMTP has received in full.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// `None` for the null reverse path.
    pub reverse_path: Option<EmailAddress>,
    /// At least one; all on the mail domain.
    pub recipients: Vec<EmailAddress>,
    /// Whose key the client authenticated with.
    pub project: Option<ProjectId>,
    /// The Return-Path and Received fields that this hop adds, CRLF-terminated.
    pub trace: String,
    /// The message, byte for byte.
    pub raw: Vec<u8>,
}

/// Why a recipient or a message is not taken.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    #[error("inbox {0} is full")]
    InboxFull(InboxId), // 452 4.2.2
    #[error("the project of {0} was deleted")]
    Disabled(InboxId), // 550 5.2.1
    #[error(transparent)]
    Store(#[from] StoreError), // 451 4.3.0
}

/// The use cases. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<()>);

impl Service {
    /// Migrates the database, makes the default project where there is none, and starts the committer and the sweeper on the current tokio runtime.
    pub async fn start(_database: Database, _clock: Clock, _options: Options) -> Result<Self, StoreError> {
        std::future::pending().await
    }
    pub fn mail_domain(&self) -> &Domain {
        unreachable!()
    }
    pub fn clock(&self) -> &Clock {
        unreachable!()
    }
    /// The projects and their keys.
    pub fn projects(&self) -> &Projects {
        unreachable!()
    }
    /// Whoever holds `key`; None for a wrong or ended one. (Cached for up to two seconds.)
    pub async fn authenticate(&self, _key: &str) -> Result<Option<Caller>, StoreError> {
        std::future::pending().await
    }
    /// An answer from the database, for the health check.
    pub async fn check_health(&self) -> Result<(), StoreError> {
        std::future::pending().await
    }

    pub async fn create_inbox(&self, _caller: &Caller) -> Result<Inbox, ServiceError> {
        std::future::pending().await
    }
    /// `id` as it stood in the path.
    pub async fn inbox(&self, _caller: &Caller, _id: &str) -> Result<Inbox, ServiceError> {
        std::future::pending().await
    }
    /// `address` as it was given.
    pub async fn inbox_by_address(&self, _caller: &Caller, _address: &str) -> Result<Inbox, ServiceError> {
        std::future::pending().await
    }
    pub async fn delete_inbox(&self, _caller: &Caller, _id: &str) -> Result<(), ServiceError> {
        std::future::pending().await
    }

    pub async fn message(&self, _caller: &Caller, _id: &str) -> Result<Message, ServiceError> {
        std::future::pending().await
    }
    /// Checks the cursors; the pages are read as they are asked for.
    pub async fn list(&self, _inbox: &Inbox, _filter: &ListFilter) -> Result<MessagePages, ServiceError> {
        std::future::pending().await
    }
    /// Checks the cursor (400) before it takes a slot (429). Dropping the future frees the slot.
    pub async fn wait(
        &self,
        _caller: &Caller,
        _inbox: &Inbox,
        _filter: &MessageFilter,
        _timeout: Duration,
    ) -> Result<Message, ServiceError> {
        std::future::pending().await
    }
    pub async fn send(&self, _caller: &Caller, _inbox: &Inbox, _draft: Draft) -> Result<OutgoingId, ServiceError> {
        std::future::pending().await
    }

    /// Whether mail to this recipient would be taken now (asked at RCPT).
    pub async fn accept_recipient(&self, _recipient: &EmailAddress) -> Result<(), DeliverError> {
        std::future::pending().await
    }
    /// Returns once every message is durably stored.
    pub async fn deliver(&self, _incoming: Incoming) -> Result<Vec<MessageId>, DeliverError> {
        std::future::pending().await
    }

    /// Ends every parked wait with [`ServiceError::Stopping`], at the end of a shutdown's grace.
    pub fn end_waits(&self) {}
    /// Stops the sweeper and waits for the committer to finish what it has taken.
    pub async fn stop(&self) {}
}

/// Why a change to the projects was refused.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("there is already a project named {0}")]
    Exists(String),
    #[error("there is no project named {0}")]
    NotFound(String),
    #[error("the default project cannot be deleted")]
    Default,
    #[error("a project's name has 1 to 100 characters and no control character")]
    InvalidName,
    #[error("this key belongs to another project")]
    KeyTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The projects and their keys; also used by the command line while no server runs, or beside one.
#[derive(Clone)]
pub struct Projects(());
impl Projects {
    /// Opens them on a database of their own connection (migrates it first).
    pub async fn open(_database: Database, _clock: Clock) -> Result<Self, StoreError> {
        std::future::pending().await
    }
    pub async fn create(&self, _name: &str) -> Result<ApiKey, ProjectError> {
        std::future::pending().await
    }
    pub async fn list(&self) -> Result<Vec<Project>, ProjectError> {
        std::future::pending().await
    }
    /// The old key stops after `overlap`.
    pub async fn rotate_key(&self, _name: &str, _overlap: Duration) -> Result<ApiKey, ProjectError> {
        std::future::pending().await
    }
    pub async fn delete(&self, _name: &str) -> Result<(), ProjectError> {
        std::future::pending().await
    }
    /// Makes sure the default project exists. `chosen` becomes its one key; without it, a key is made and returned only where the project has none.
    pub async fn prepare_default(&self, _chosen: Option<&ApiKey>) -> Result<Option<ApiKey>, ProjectError> {
        std::future::pending().await
    }
    /// Keeps the SHA-256 of the administrator's token.
    pub async fn set_admin_token(&self, _token: &str) -> Result<(), ProjectError> {
        std::future::pending().await
    }
}
