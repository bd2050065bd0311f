//! What a submission program such as `sendmail -t` reads from the header of a message: the sender and the recipients.

use crate::details::field_mailboxes;
use crate::header::{Field, Section};
use crate::sender;

/// The addresses in the header of a message that is being submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// The first address of the From header, if one parses.
    pub from: Option<String>,
    /// The addresses in To, Cc and Bcc, as written.
    pub recipients: Vec<String>,
}

/// Reads the header of a message. Never fails, and unlike [`crate::details`] it has no limits, because no recipient may
/// be left out: use it for the user's own messages only.
#[must_use]
pub fn submission(raw: &[u8]) -> Submission {
    let section = Section::read(raw, usize::MAX, |_| false);
    let named = |names: &[&str], field: &Field<'_>| names.iter().any(|name| field.is(name));
    let from = section.fields.iter().filter(|field| named(&["from"], field));
    let to = section.fields.iter().filter(|field| named(&["to", "cc", "bcc"], field));
    Submission {
        from: from.filter_map(|field| sender::address(field.value)).next(),
        recipients: to.flat_map(|field| field_mailboxes(field.value)).filter_map(|mailbox| mailbox.address).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_alone_has_the_addresses() {
        let raw = b"From: App <app@a.example>\nTo: \"One, 1\" <1@b.example>,\n 2@b.example\nCC: Team: 3@b.example;\n\
            bcc : 4@b.example\nTo: 5@b.example\n\nTo: 6@b.example\n";
        let read = submission(raw);
        assert_eq!(read.from.as_deref(), Some("app@a.example"));
        let expected: Vec<String> = [1, 2, 3, 4, 5].map(|number| format!("{number}@b.example")).into();
        assert_eq!(read.recipients, expected);
    }

    #[test]
    fn no_recipient_is_left_out_of_a_long_header() {
        let many: Vec<String> = (0..20_000).map(|number| format!("{number}@b.example")).collect();
        let raw = format!("To: {}\r\nBcc: last@b.example\r\n\r\n", many.join(",\r\n "));
        assert_eq!(submission(raw.as_bytes()).recipients.len(), 20_001);
    }

    #[test]
    fn a_message_without_a_header_has_none() {
        for raw in [&b""[..], b"Hello", b"\n", b":", b"\n\n", b"\r\n.\r\n", b"From", b"From:", b"To:\n", b" ", b"\0"] {
            assert_eq!(submission(raw), Submission::default(), "{}", raw.escape_ascii());
        }
    }
}
