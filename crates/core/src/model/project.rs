//! A project: the owner of inboxes and messages.

use super::{ProjectId, Timestamp};

/// A project as shown to its administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// Whether it is the default project, which owns inboxes that are created by mail to an unknown
    /// address.
    pub is_default: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// The last four characters of its newest key.
    pub key_last_four: String,
    /// How many live inboxes it has.
    pub inboxes: i64,
}

/// A key of a project that works, as shown to the administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingKey {
    pub last_four: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}
