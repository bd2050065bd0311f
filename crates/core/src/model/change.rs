//! The changes that a committed transaction announces to the rest of the program.

use uuid::Uuid;

use super::InboxId;

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An inbox: it was created, received a message, lost one, or ended.
    Inbox(InboxId),
    /// An inbox is full.
    InboxFull(InboxId),
    /// The list of an inbox's faults was replaced. The id is that of the change.
    Faults(InboxId, Uuid),
    /// A node has received a change of faults.
    FaultsKnown {
        /// The id of the change.
        change: Uuid,
        /// The id of the node.
        node: Uuid,
    },
    /// The queue of the mail worker.
    Queue,
    /// The sessions of the dashboard.
    Sessions,
    /// The projects or their keys.
    Projects,
    /// The journal.
    Journal,
    /// Anything may have changed, because announcements were lost.
    Unknown,
}
