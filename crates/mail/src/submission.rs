//! What a submission program such as `sendmail -t` does with a message: it reads the sender and the
//! recipients from the header, removes the blind copies, and ends every line with CR LF.

use restante_api::Mailbox;

use crate::budget::HEADER_SECTION_BYTES;
use crate::details::field_mailboxes;
use crate::header::{Field, Section};
use crate::sender;

/// The bytes of a field for each of its addresses. They and their names have far fewer.
const ADDRESS_BYTES: usize = 1_000;

/// The addresses in the header of a message that is being submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// The first address of the From header, if one parses.
    pub from: Option<String>,
    /// The addresses in To, Cc and Bcc, as written.
    pub recipients: Vec<String>,
}

/// Reads the header of a message. Never fails, and unlike [`crate::details`] it has no limits,
/// because no recipient may be left out: use it for the user's own messages only.
#[must_use]
pub fn submission(raw: &[u8]) -> Submission {
    let section = Section::read(raw, usize::MAX, |_| false);
    let named = |names: &[&str], field: &Field<'_>| names.iter().any(|name| field.is(name));
    let from = section
        .fields
        .iter()
        .filter(|field| named(&["from"], field));
    let to = section
        .fields
        .iter()
        .filter(|field| named(&["to", "cc", "bcc"], field));
    Submission {
        from: from.filter_map(|field| sender::address(field.value)).next(),
        recipients: to
            .flat_map(|field| field_mailboxes(field.value))
            .filter_map(|mailbox| mailbox.address)
            .collect(),
    }
}

/// As [`submission`], for anybody's message: it reads at most `most` recipients. `None` if the
/// header has more than 1 MiB, or a field is too long for so few addresses.
#[must_use]
pub fn bounded_submission(raw: &[u8], most: usize) -> Option<Submission> {
    let section = Section::read(raw, HEADER_SECTION_BYTES, |_| false);
    if section.length > HEADER_SECTION_BYTES {
        return None;
    }
    let named = |names: &[&str], field: &Field<'_>| names.iter().any(|name| field.is(name));
    let mut from = section
        .fields
        .iter()
        .filter(|field| named(&["from"], field));
    let mut recipients = Vec::new();
    for field in section
        .fields
        .iter()
        .filter(|field| named(&["to", "cc", "bcc"], field))
    {
        if recipients.len() < most {
            let mailboxes = bounded_mailboxes(field.value, most)?;
            recipients.extend(mailboxes.into_iter().filter_map(|mailbox| mailbox.address));
        }
    }
    recipients.truncate(most);
    Some(Submission {
        from: from.find_map(|field| sender::address(field.bounded_value())),
        recipients,
    })
}

/// The first mailboxes of a field, at most `most`. A malformed one has no address. `None` if the
/// field is too long for so few.
#[must_use]
pub fn bounded_mailboxes(value: &[u8], most: usize) -> Option<Vec<Mailbox>> {
    let bytes = most.saturating_mul(ADDRESS_BYTES);
    let mut mailboxes = field_mailboxes(&value[..value.len().min(bytes)]);
    if value.len() > bytes && mailboxes.len() < most {
        return None;
    }
    mailboxes.truncate(most);
    Some(mailboxes)
}

/// The message with CR LF at the end of every line.
#[must_use]
pub fn with_crlf(message: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(message.len() + message.len() / 64);
    let mut rest = message;
    while !rest.is_empty() {
        let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        lines.extend_from_slice(&rest[..end]);
        lines.extend_from_slice(b"\r\n");
        let is_pair = rest[end..].starts_with(b"\r\n");
        rest = rest
            .get(end + if is_pair { 2 } else { 1 }..)
            .unwrap_or_default();
    }
    lines
}

/// The message without its Bcc fields. Its lines end with CR LF.
#[must_use]
pub fn without_bcc(message: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(message.len());
    let mut in_bcc = false;
    let mut rest = message;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let (line, after) = rest.split_at(end + 1);
        if line == b"\r\n" {
            break;
        }
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            in_bcc = name.trim_ascii_end().eq_ignore_ascii_case(b"bcc");
        }
        if !in_bcc {
            kept.extend_from_slice(line);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ends_with_cr_lf() {
        assert_eq!(
            with_crlf(b"a\nb\r\nc\rd\n\n\r\re"),
            b"a\r\nb\r\nc\r\nd\r\n\r\n\r\n\r\ne\r\n"
        );
        assert_eq!(
            (with_crlf(b""), with_crlf(b"\n")),
            (b"".to_vec(), b"\r\n".to_vec())
        );
    }

    #[test]
    fn bcc_is_removed_only_from_the_headers() {
        let message = b"To: a\r\nBCC : b,\r\n\tc\r\nSubject: d\r\n\r\nBcc: e\r\n";
        assert_eq!(
            without_bcc(message),
            b"To: a\r\nSubject: d\r\n\r\nBcc: e\r\n"
        );
        assert_eq!(without_bcc(b"Bcc: a\r\n"), b"");
    }

    #[test]
    fn addresses_are_read_only_from_the_header() {
        let raw = b"From: App <app@a.example>\nTo: \"One, 1\" <1@b.example>,\n 2@b.example\nCC: Team: 3@b.example;\n\
            bcc : 4@b.example\nTo: 5@b.example\n\nTo: 6@b.example\n";
        let read = submission(raw);
        assert_eq!(read.from.as_deref(), Some("app@a.example"));
        let expected: Vec<String> = [1, 2, 3, 4, 5]
            .map(|number| format!("{number}@b.example"))
            .into();
        assert_eq!(read.recipients, expected);
    }

    #[test]
    fn every_recipient_of_a_long_header_is_found() {
        let many: Vec<String> = (0..20_000)
            .map(|number| format!("{number}@b.example"))
            .collect();
        let raw = format!("To: {}\r\nBcc: last@b.example\r\n\r\n", many.join(",\r\n "));
        assert_eq!(submission(raw.as_bytes()).recipients.len(), 20_001);
    }

    #[test]
    fn of_anybody_s_message_only_so_many_recipients_are_read() {
        let list = |count: usize| vec!["a@b"; count].join(",");
        let read =
            |raw: &str| bounded_submission(raw.as_bytes(), 3).map(|read| read.recipients.len());
        for (raw, found) in [
            ("From: a@b\n\nTo: a@b\n".to_owned(), Some(0)),
            (format!("To: {}\nCc: a@b\n\n", list(1)), Some(2)),
            (format!("To: {}\nBcc: {}\n\n", list(2), list(2)), Some(3)),
            (format!("To: {}\n\n", list(200_000)), Some(3)),
            (format!("To: {} <a@b>\n\n", "a ".repeat(2_000)), None),
            (format!("To: a@b\n{}", "a:\n".repeat(400_000)), None),
            (format!("To: a@b\nX: {}", "a".repeat(2_000_000)), None),
            (format!("To: a@b\n\n{}", "a:\n".repeat(400_000)), Some(1)),
        ] {
            assert_eq!(read(&raw), found, "{raw:.40}");
        }
        let raw = b"From: nobody\nFrom: App <app@a.example>\nTo: \"One, 1\" <1@b.example>, 2@b.example\n\n";
        assert_eq!(bounded_submission(raw, 100), Some(submission(raw)));
    }

    #[test]
    fn a_message_without_a_header_has_none() {
        for raw in [
            &b""[..],
            b"Hello",
            b"\n",
            b":",
            b"\n\n",
            b"\r\n.\r\n",
            b"From",
            b"From:",
            b"To:\n",
            b" ",
            b"\0",
        ] {
            assert_eq!(
                submission(raw),
                Submission::default(),
                "{}",
                raw.escape_ascii()
            );
        }
    }
}
