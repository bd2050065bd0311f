//! The threading data that a reply needs from the message to which it replies (RFC 5322, section
//! 3.6.4).

use crate::budget::HEADER_SECTION_BYTES;
use crate::header::{Field, Section};

/// A longer message id is left out, because with its field name it would not fit on a line (RFC
/// 5322, section 2.1.1).
const ID_BYTES: usize = 900;
/// The references that are kept: the first one, which started the thread, and the latest.
const REFERENCES: usize = 20;

/// The ids of a message and of those before it in its thread, with angle brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threading {
    /// The message's own id.
    pub message_id: Option<String>,
    /// The ids of the messages before it, oldest first; at most 20.
    pub references: Vec<String>,
}

/// Reads the threading of a message from its header section.
#[must_use]
pub fn threading(raw: &[u8]) -> Threading {
    let section = Section::read(raw, HEADER_SECTION_BYTES, |_| false);
    let ids_of = |name: &str| section.field(name).map(ids).unwrap_or_default();
    let mut references = ids_of("references");
    if references.is_empty() {
        // Without References, an In-Reply-To with a single id is used.
        references = Some(ids_of("in-reply-to"))
            .filter(|ids| ids.len() == 1)
            .unwrap_or_default();
    }
    Threading {
        message_id: ids_of("message-id").into_iter().next(),
        references: bounded(references),
    }
}

/// The first and the latest of a thread's ids.
pub(super) fn bounded(mut references: Vec<String>) -> Vec<String> {
    if references.len() > REFERENCES {
        references.drain(1..=references.len() - REFERENCES);
    }
    references
}

/// The message ids in a field: printable ASCII without spaces between angle brackets.
pub(super) fn ids(field: Field<'_>) -> Vec<String> {
    let value = String::from_utf8_lossy(field.bounded_value());
    let pieces = value
        .split('<')
        .skip(1)
        .filter_map(|piece| piece.split_once('>'));
    pieces
        .map(|(id, _)| format!("<{id}>"))
        .filter(|id| is_bracketed_id(id))
        .collect()
}

/// Whether this is an id in angle brackets that can be written into a header.
pub(super) fn is_bracketed_id(id: &str) -> bool {
    let inner = id.strip_prefix('<').and_then(|id| id.strip_suffix('>'));
    inner.is_some_and(|inner| {
        (1..=ID_BYTES).contains(&inner.len())
            && inner
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_only_from_the_header() {
        let raw = b"Message-ID: <a@b>\r\nReferences: <1@b>\r\n <2@b> junk <bad id> <>\r\n\r\nMessage-ID: <no@b>\r\n";
        let expected = Threading {
            message_id: Some("<a@b>".into()),
            references: vec!["<1@b>".into(), "<2@b>".into()],
        };
        assert_eq!(threading(raw), expected);
        assert_eq!(threading(b"Subject: x\n\n"), Threading::default());
    }

    #[test]
    fn in_reply_to_replaces_missing_references() {
        assert_eq!(threading(b"In-Reply-To: <1@b>\n\n").references, ["<1@b>"]);
        assert!(
            threading(b"In-Reply-To: <1@b> <2@b>\n\n")
                .references
                .is_empty()
        );
    }

    #[test]
    fn references_do_not_grow_without_end() {
        let all: Vec<String> = (0..100).map(|number| format!("<{number}@b>")).collect();
        let raw = format!("References: {}\n\n", all.join("\n "));
        let kept = threading(raw.as_bytes()).references;
        assert_eq!(kept.len(), REFERENCES);
        assert_eq!(
            (kept[0].as_str(), kept[1].as_str(), kept[19].as_str()),
            ("<0@b>", "<81@b>", "<99@b>")
        );
    }
}
