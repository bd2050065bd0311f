//! The changes that a committed transaction announces to the rest of the program.

use uuid::Uuid;

use super::InboxId;

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An inbox: it was created, received a message, lost one, or ended.
    Inbox(InboxId),
    /// Deleted messages of an inbox were restored, each in its former place.
    Restored(InboxId),
    /// An inbox is full.
    InboxFull(InboxId),
    /// The list of an inbox's faults was replaced.
    Faults(InboxId),
    /// A node, which the id names, has received `Faults` of an inbox.
    FaultsKnown(InboxId, Uuid),
    /// The queue of the mail worker.
    Queue,
    /// The stored refusals.
    Refusals,
    /// The sessions of the dashboard.
    Sessions,
    /// The projects or their keys.
    Projects,
    /// The recorded waits and SMTP sessions.
    Events,
    /// The stories of waits that timed out.
    Failures,
    /// Anything may have changed, because announcements were lost.
    Unknown,
}
