//! The words of the domain: projects, keys, inboxes, messages, and the instants they happen at.

mod address;
mod api_key;
mod inbox;
mod message;
mod outgoing;
mod project;
mod timestamp;

pub use address::{Domain, EmailAddress, InvalidAddress};
pub use api_key::{ApiKey, InvalidApiKey, KeyHash};
pub use inbox::{Inbox, InboxId, InboxKind, InvalidInboxId};
pub use message::{InvalidMessageId, Message, MessageId};
pub use outgoing::{InvalidOutgoingId, Outgoing, OutgoingId, OutgoingStatus, WorkerId};
pub use project::{Project, ProjectId};
pub use timestamp::Timestamp;
