//! Inboxes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Example;
use crate::word::words;

/// An address at which a test receives mail.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Inbox {
    /// The inbox identifier: the local part of the address, or a generated one if the address is on
    /// another domain than the mail domain.
    #[schemars(length(min = 1))]
    pub id: String,
    /// The recipient address.
    #[schemars(extend("pattern" = r"^[^@\s]+@[^@\s]+$"))]
    pub address: String,
    /// A temporary inbox expires automatically; a permanent one is managed in the dashboard.
    pub kind: InboxKind,
    /// UTC, with milliseconds.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// One hour after creation for a temporary inbox, or after the last PUT of its address. After
    /// that, requests for the inbox and its messages return 404. Null: never.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
}

words! {
    /// How long an inbox exists.
    pub enum InboxKind {
        /// Expires automatically.
        Temporary = "temporary",
        /// Exists until it is deleted in the dashboard.
        Permanent = "permanent",
    }
}

/// Empty: no property is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateInboxBody {}

impl Example for Inbox {
    fn example() -> Self {
        Self {
            id: "k3v9w0qdm4xt2p7h".to_owned(),
            address: "k3v9w0qdm4xt2p7h@restante.example.com".to_owned(),
            kind: InboxKind::Temporary,
            created_at: "2026-11-20T09:30:00.123Z".to_owned(),
            expires_at: Some("2026-11-20T10:30:00.123Z".to_owned()),
        }
    }
}

impl Example for CreateInboxBody {
    fn example() -> Self {
        Self {}
    }
}
