//! Changes as the text of a notification, with which PostgreSQL announces them to all nodes.

use crate::model::{Change, InboxId};

/// Separates the changes in one notification; no change contains it.
const SEPARATOR: char = '\n';
/// Maximum length of a notification's payload: the server accepts fewer than 8,000 bytes.
const MAX_PAYLOAD: usize = 7_999;

/// The payload of a notification. Empty if it would be too long, or if anything may have changed.
pub(super) fn payload(changes: &[Change]) -> String {
    let mut payload = String::new();
    for change in changes {
        let Some(text) = text(change) else {
            return String::new();
        };
        if payload.len() + 1 + text.len() > MAX_PAYLOAD {
            return String::new();
        }
        if !payload.is_empty() {
            payload.push(SEPARATOR);
        }
        payload.push_str(&text);
    }
    payload
}

/// The changes in a payload.
pub(super) fn announced(payload: &str) -> Vec<Change> {
    payload.split(SEPARATOR).map(of_text).collect()
}

fn text(change: &Change) -> Option<String> {
    Some(match change {
        Change::Inbox(id) => format!("inbox {id}"),
        Change::InboxFull(id) => format!("full {id}"),
        Change::Faults(id, change) => format!("faults {change}/{id}"),
        Change::FaultsKnown { change, node } => format!("known {change}/{node}"),
        Change::Queue => "queue".to_owned(),
        Change::Sessions => "sessions".to_owned(),
        Change::Projects => "projects".to_owned(),
        Change::Journal => "journal".to_owned(),
        Change::Unknown => return None,
    })
}

fn of_text(text: &str) -> Change {
    let id = |id: &str| InboxId::from_stored(id.to_owned());
    match text.split_once(' ').unwrap_or((text, "")) {
        ("inbox", inbox) => Change::Inbox(id(inbox)),
        ("full", inbox) => Change::InboxFull(id(inbox)),
        ("faults", faults) => match faults
            .split_once('/')
            .map(|(change, inbox)| (change.parse(), inbox))
        {
            Some((Ok(change), inbox)) => Change::Faults(id(inbox), change),
            _ => Change::Unknown,
        },
        ("known", known) => match known
            .split_once('/')
            .map(|(change, node)| (change.parse(), node.parse()))
        {
            Some((Ok(change), Ok(node))) => Change::FaultsKnown { change, node },
            _ => Change::Unknown,
        },
        ("queue", _) => Change::Queue,
        ("sessions", _) => Change::Sessions,
        ("projects", _) => Change::Projects,
        ("journal", _) => Change::Journal,
        // Empty, or from a version of the program that announces a change that this one does not
        // know.
        _ => Change::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_survive_a_round_trip_through_their_payload() {
        let id = InboxId::parse("a.b+c").unwrap();
        let changes = [
            Change::Inbox(id.clone()),
            Change::InboxFull(id.clone()),
            Change::Faults(id, uuid::Uuid::now_v7()),
            Change::FaultsKnown {
                change: uuid::Uuid::now_v7(),
                node: uuid::Uuid::now_v7(),
            },
            Change::Queue,
            Change::Sessions,
            Change::Projects,
            Change::Journal,
        ];
        assert_eq!(announced(&payload(&changes)), changes);
        assert_eq!(announced("from the future"), [Change::Unknown]);
    }

    #[test]
    fn changes_that_cannot_be_listed_are_announced_as_unknown() {
        let inboxes = |count: usize, length: usize| {
            vec![Change::Inbox(InboxId::from_stored("k".repeat(length))); count]
        };
        assert_eq!(payload(&[Change::Queue, Change::Unknown]), "");
        assert_eq!(payload(&inboxes(256, 16)).len(), 256 * 23 - 1);
        assert_eq!(payload(&inboxes(256, 64)), "");
        assert_eq!(announced(""), [Change::Unknown]);
    }
}
