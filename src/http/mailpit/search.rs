//! The search syntax of Mailpit: `to:ada@example.com subject:"Sign in" -newsletter`.
//!
//! Words are separated by spaces, except within quotation marks; all must match. `!` or `-` before
//! a word excludes it. `to:` compares whole addresses, so that a search for one test's address
//! never finds that of another.

use crate::model::{EmailAddress, MailSearch, Recipient, SearchedPart, TextCondition};
use crate::service::{Caller, Service, ServiceError};

/// Maximum number of bytes of a search, and of words in it.
const MAX_BYTES: usize = 4 * 1024;
const MAX_WORDS: usize = 50;
/// Conditions of Mailpit that would be wrong if they were ignored.
const UNKNOWN: [&str; 8] = [
    "bcc:", "after:", "before:", "larger:", "smaller:", "is:", "has:", "tag:",
];
/// Conditions on a part of a message.
const PARTS: [(&str, SearchedPart); 6] = [
    ("from:", SearchedPart::From),
    ("cc:", SearchedPart::Cc),
    ("reply-to:", SearchedPart::ReplyTo),
    ("addressed:", SearchedPart::Addresses),
    ("subject:", SearchedPart::Subject),
    ("message-id:", SearchedPart::MessageId),
];

/// A search as it was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The addresses of `to:`, and whether each is excluded.
    pub(super) recipients: Vec<(String, bool)>,
    pub(super) texts: Vec<TextCondition>,
    /// Whether the message must have an attachment, or none.
    pub(super) has_attachment: Option<bool>,
    /// Whether it must have been read, or not.
    pub(super) is_read: Option<bool>,
}

/// Parses a search.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(search: &str) -> Result<Parsed, String> {
    if search.len() > MAX_BYTES {
        return Err(format!("the search is longer than {MAX_BYTES} bytes"));
    }
    let words = words(search);
    if words.len() > MAX_WORDS {
        return Err(format!("the search has more than {MAX_WORDS} words"));
    }
    let mut parsed = Parsed::default();
    for word in words {
        parsed.add(&word)?;
    }
    Ok(parsed)
}

impl Parsed {
    fn add(&mut self, word: &str) -> Result<(), String> {
        let (is_excluded, word) = match word.strip_prefix(['!', '-']) {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, word),
        };
        let value_of = |prefix: &str| {
            let start = word.get(..prefix.len())?;
            start
                .eq_ignore_ascii_case(prefix)
                .then(|| word[prefix.len()..].trim())
        };
        if word.eq_ignore_ascii_case("has:attachment") {
            self.has_attachment = Some(!is_excluded);
            return Ok(());
        }
        for (condition, is_read) in [("is:read", true), ("is:unread", false)] {
            if word.eq_ignore_ascii_case(condition) {
                self.is_read = Some(is_read != is_excluded);
                return Ok(());
            }
        }
        if let Some(prefix) = UNKNOWN
            .into_iter()
            .find(|prefix| value_of(prefix).is_some())
        {
            return Err(format!("`{prefix}` is not supported"));
        }
        if let Some(address) = value_of("to:") {
            self.recipients
                .push((required(address, "to:")?, is_excluded));
            return Ok(());
        }
        let named = PARTS
            .into_iter()
            .find_map(|(prefix, part)| Some((prefix, part, value_of(prefix)?)));
        let (prefix, part, text) = named.unwrap_or(("the word", SearchedPart::All, word));
        let text = if part == SearchedPart::MessageId {
            text.trim_matches(['<', '>'])
        } else {
            text
        };
        self.texts.push(TextCondition {
            part,
            text: required(text, prefix)?,
            is_excluded,
        });
        Ok(())
    }

    /// The search among the caller's inboxes; `None` if it can find nothing.
    pub(super) async fn among_inboxes_of(
        self,
        service: &Service,
        caller: &Caller,
    ) -> Result<Option<MailSearch>, ServiceError> {
        let domain = service.mail_domain();
        let mut search = MailSearch {
            texts: self.texts,
            has_attachment: self.has_attachment,
            is_read: self.is_read,
            mail_domain: domain.to_string(),
            ..MailSearch::default()
        };
        for (address, is_excluded) in self.recipients {
            let Ok(address) = EmailAddress::parse(&address) else {
                if is_excluded {
                    continue;
                }
                return Ok(None);
            };
            let recipient = Recipient::of(&address, domain);
            // One of them is found by the index of its inbox: that of the address, or without tag.
            if !is_excluded && search.inbox.is_none() {
                for meant in recipient.meant() {
                    match service.inbox_by_address(caller, &meant.at(domain)).await {
                        Err(ServiceError::InboxNotFound) => {}
                        found => {
                            search.inbox = Some(found?);
                            break;
                        }
                    }
                }
                if search.inbox.is_none() {
                    return Ok(None);
                }
            }
            search.recipients.push((recipient.at(domain), is_excluded));
        }
        Ok(Some(search))
    }
}

/// The value of a condition. An empty one is mostly a variable that was not set, and would find
/// every message.
fn required(value: &str, condition: &str) -> Result<String, String> {
    if value.is_empty() {
        Err(format!("`{condition}` has no value"))
    } else {
        Ok(value.to_owned())
    }
}

/// The words, without their quotation marks.
fn words(search: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for character in search.chars().chain([' ']) {
        match character {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(character),
        }
    }
    words.push(word);
    let words = words.into_iter().map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(part: SearchedPart, text: &str, is_excluded: bool) -> TextCondition {
        TextCondition {
            part,
            text: text.to_owned(),
            is_excluded,
        }
    }

    #[test]
    fn words_and_conditions_are_read_as_mailpit_reads_them() {
        use SearchedPart::{All, From, MessageId, Subject};
        let parsed = parse(
            "TO:ada@x.example !to:\"bob@x.example\" subject:\"sign in\" -from:shop message-id:<1@x> \"a b\" c \
             -d - !HAS:attachment \"\"",
        )
        .unwrap();
        assert_eq!(parsed.has_attachment, Some(false));
        assert_eq!(
            parsed.recipients,
            [
                ("ada@x.example".to_owned(), false),
                ("bob@x.example".to_owned(), true)
            ]
        );
        let expected = [
            text(Subject, "sign in", false),
            text(From, "shop", true),
            text(MessageId, "1@x", false),
            text(All, "a b", false),
            text(All, "c", false),
            text(All, "d", true),
            text(All, "-", false),
        ];
        assert_eq!(parsed.texts, expected);
        assert_eq!(
            parse("\"to:ada@x.example and more").unwrap().recipients[0].0,
            "ada@x.example and more"
        );
        assert_eq!(parse("é:x").unwrap().texts, [text(All, "é:x", false)]);
        assert_eq!(parse("").unwrap(), Parsed::default());
        for (search, is_read) in [("is:read", true), ("IS:unread", false), ("-is:read", false)] {
            assert_eq!(parse(search).unwrap().is_read, Some(is_read), "{search}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_an_error_and_not_ignored() {
        for search in [
            "before:2026-11-20",
            "!larger:1M",
            "a bcc:b@x.example",
            "AFTER:x",
            "is:tagged",
            "-tag:x",
            "has:inline",
        ] {
            assert!(
                parse(search).unwrap_err().contains("not supported"),
                "{search}"
            );
        }
        for search in ["to:", "a subject:\"\"", "-message-id:<>"] {
            assert!(
                parse(search).unwrap_err().contains("has no value"),
                "{search}"
            );
        }
        assert!(
            parse(&"a".repeat(MAX_BYTES + 1)).is_err()
                && parse(&"a ".repeat(MAX_WORDS + 1)).is_err()
        );
        assert!(parse(&"a ".repeat(MAX_WORDS)).is_ok());
    }
}
