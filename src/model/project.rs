//! A project: the owner of inboxes and messages.

use std::fmt;

use uuid::Uuid;

use super::{InvalidId, Timestamp, parse_id};

/// Identifies a project; a UUID of version 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProjectId(pub Uuid);

impl ProjectId {
    /// Generates an id.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Parses an id from outside: the hyphenated form, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        parse_id(text).map(Self)
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A project as shown to its administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Identifies it.
    pub id: ProjectId,
    /// Its unique name.
    pub name: String,
    /// Whether it is the default project, which owns inboxes that are created by mail to an unknown address.
    pub is_default: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// The last four characters of its newest key.
    pub key_last_four: String,
    /// How many live inboxes it has.
    pub inboxes: i64,
}
