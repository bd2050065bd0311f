//! The changes that a committed transaction announces to the rest of the program, and on PostgreSQL to other nodes.

use crate::db::Notice;
use crate::model::InboxId;

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
    /// The queue of the mail worker.
    Queue,
    /// The stored refusals.
    Refusals,
    /// The sessions of the dashboard.
    Sessions,
    /// The projects or their keys.
    Projects,
    /// The recorded waits.
    Waits,
    /// Anything may have changed, because notifications were lost.
    Unknown,
}

impl Change {
    /// The change as the key of a notification.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Inbox(id) => format!("inbox {id}"),
            Self::Restored(id) => format!("restored {id}"),
            Self::InboxFull(id) => format!("full {id}"),
            Self::Faults(id) => format!("faults {id}"),
            Self::Queue => "queue".to_owned(),
            Self::Refusals => "refusals".to_owned(),
            Self::Sessions => "sessions".to_owned(),
            Self::Projects => "projects".to_owned(),
            Self::Waits => "waits".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }

    pub(super) fn of_notice(notice: &Notice) -> Self {
        let Notice::Key(key) = notice else { return Self::Unknown };
        match key.split_once(' ').unwrap_or((key, "")) {
            ("inbox", id) => Self::Inbox(InboxId::from_stored(id.to_owned())),
            ("restored", id) => Self::Restored(InboxId::from_stored(id.to_owned())),
            ("full", id) => Self::InboxFull(InboxId::from_stored(id.to_owned())),
            ("faults", id) => Self::Faults(InboxId::from_stored(id.to_owned())),
            ("queue", _) => Self::Queue,
            ("refusals", _) => Self::Refusals,
            ("sessions", _) => Self::Sessions,
            ("projects", _) => Self::Projects,
            ("waits", _) => Self::Waits,
            // Another version of the program may announce a change that this one does not know.
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_back_from_its_key() {
        let id = InboxId::parse("a.b+c").unwrap();
        let changes = [
            Change::Inbox(id.clone()),
            Change::Restored(id.clone()),
            Change::InboxFull(id.clone()),
            Change::Faults(id),
            Change::Queue,
            Change::Refusals,
            Change::Sessions,
            Change::Projects,
            Change::Waits,
            Change::Unknown,
        ];
        for change in changes {
            assert_eq!(Change::of_notice(&Notice::Key(change.key())), change);
        }
        assert_eq!(Change::of_notice(&Notice::Lost), Change::Unknown);
        assert_eq!(Change::of_notice(&Notice::Key("from the future".to_owned())), Change::Unknown);
    }
}
