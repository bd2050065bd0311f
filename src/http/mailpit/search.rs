//! The search syntax of Mailpit: `to:ada@example.com subject:"Sign in" -newsletter`.
//!
//! Words are separated by spaces, except within quotation marks; all must match. `!` or `-` before
//! a word excludes it. `to:` compares whole addresses, so that a search for one test's address
//! never finds that of another.

use crate::http::search_words::{Word, words};
use crate::model::{Condition, Domain, EmailAddress, MailPart, MailQuery, Recipient, Scope};
use crate::service::{Caller, Service, ServiceError};

/// The fields of the header with addresses.
const ADDRESSES: [&str; 4] = ["from", "to", "cc", "reply-to"];

/// A search as it was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The addresses of `to:`, and whether each is excluded.
    pub(super) recipients: Vec<(String, bool)>,
    pub(super) conditions: Vec<Condition>,
    /// Whether the message must have an attachment, or none.
    pub(super) has_attachment: Option<bool>,
    /// Whether it must have been read, or not.
    pub(super) is_read: Option<bool>,
}

/// Parses a search.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(search: &str, mail_domain: &Domain) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    for word in words(search)? {
        parsed.add(word, mail_domain)?;
    }
    Ok(parsed)
}

impl Parsed {
    fn add(&mut self, mut word: Word, mail_domain: &Domain) -> Result<(), String> {
        let is_excluded = word.text.len() > 1 && word.text.starts_with(['!', '-']);
        word.text.drain(..usize::from(is_excluded));
        let (name, value) = word.operator().unwrap_or_default();
        let addresses = || {
            let mut parts = MailPart::fields(&ADDRESSES);
            parts.push(MailPart::Recipient(mail_domain.clone()));
            parts
        };
        let (parts, text) = match name.as_str() {
            "to" => {
                self.recipients.push((required(value, "to:")?, is_excluded));
                return Ok(());
            }
            "has" if value.eq_ignore_ascii_case("attachment") => {
                self.has_attachment = Some(!is_excluded);
                return Ok(());
            }
            "is" if value.eq_ignore_ascii_case("read") => {
                self.is_read = Some(!is_excluded);
                return Ok(());
            }
            "is" if value.eq_ignore_ascii_case("unread") => {
                self.is_read = Some(is_excluded);
                return Ok(());
            }
            // They would be wrong if they were ignored.
            "bcc" | "after" | "before" | "larger" | "smaller" | "is" | "has" | "tag" => {
                return Err(format!("`{name}:` is not supported"));
            }
            "from" | "cc" | "reply-to" => (MailPart::fields(&[&name]), value),
            "addressed" => (addresses(), value),
            "subject" => (vec![MailPart::Subject], value),
            "message-id" => (vec![MailPart::MessageId], value.trim_matches(['<', '>'])),
            _ => {
                let mut parts = addresses();
                parts.extend([MailPart::Subject, MailPart::Text]);
                (parts, word.text.as_str())
            }
        };
        let text = required(text, &format!("{name}:"))?;
        self.conditions
            .push(Condition::new(parts, &text).excluded(is_excluded));
        Ok(())
    }

    /// The search among the caller's inboxes; `None` if it can find nothing.
    pub(super) async fn among_inboxes_of(
        self,
        service: &Service,
        caller: &Caller,
    ) -> Result<Option<MailQuery>, ServiceError> {
        let mut query = MailQuery {
            conditions: self.conditions,
            has_attachment: self.has_attachment,
            is_read: self.is_read,
            ..all(caller)
        };
        let domain = service.mail_domain();
        for (address, is_excluded) in self.recipients {
            let Ok(address) = EmailAddress::parse(&address) else {
                if is_excluded {
                    continue;
                }
                return Ok(None);
            };
            let recipient = Recipient::of(&address, domain);
            // One of them is found by the index of its inbox: that of the address, or without tag.
            if !is_excluded && matches!(query.scope, Scope::Project(_)) {
                for meant in recipient.meant() {
                    match service.inbox_by_address(caller, &meant.at(domain)).await {
                        Err(ServiceError::InboxNotFound) => {}
                        found => {
                            query.scope = Scope::Inbox(found?);
                            break;
                        }
                    }
                }
                if matches!(query.scope, Scope::Project(_)) {
                    return Ok(None);
                }
            }
            let part = MailPart::Recipient(domain.clone());
            let condition = Condition::whole(part, &recipient.at(domain));
            query.conditions.push(condition.excluded(is_excluded));
        }
        Ok(Some(query))
    }
}

/// All messages of the caller's project.
pub(super) fn all(caller: &Caller) -> MailQuery {
    MailQuery {
        is_merged: true,
        ..MailQuery::new(Scope::Project(caller.project))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(search: &str) -> Result<Parsed, String> {
        super::parse(search, &Domain::parse("x.example").unwrap())
    }

    #[test]
    fn words_and_conditions_are_read_as_mailpit_reads_them() {
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
        let all = parse("c").unwrap().conditions[0].clone();
        let expected = [
            Condition::new([MailPart::Subject], "sign in"),
            Condition::new(MailPart::fields(&["from"]), "shop").excluded(true),
            Condition::new([MailPart::MessageId], "1@x"),
            Condition::new(all.parts.clone(), "a b"),
            all.clone(),
            Condition::new(all.parts.clone(), "d").excluded(true),
            Condition::new(all.parts.clone(), "-"),
        ];
        assert_eq!(parsed.conditions, expected);
        assert_eq!(
            parse("\"to:ada@x.example and more").unwrap().recipients[0].0,
            "ada@x.example and more"
        );
        let other = Condition::new(all.parts, "é:x");
        assert_eq!(parse("é:x").unwrap().conditions, [other]);
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
    }
}
