//! The filter of a list of messages, and the text that a search compares with addresses.

use super::{Domain, Features, Inbox, Timestamp};

/// The filter of a list of messages: all conditions must be met.
#[derive(Clone, Debug, Default)]
pub struct MailFilter {
    /// Only messages in this inbox.
    pub inbox: Option<Inbox>,
    /// Texts that a message must contain, case-insensitive.
    pub terms: Vec<MailTerm>,
    /// What a message must have.
    pub has: Features,
    /// Only messages with an attachment.
    pub has_attachment: bool,
    /// Only messages received since then.
    pub since: Option<Timestamp>,
    /// Only messages received before then.
    pub until: Option<Timestamp>,
    /// Only messages before this one in the list.
    pub before: Option<i64>,
}

/// A text that a part of a message must contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailTerm {
    pub part: MailPart,
    pub text: SearchText,
}

/// What of a message a text is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailPart {
    /// The address of the inbox (unless the list is that of an inbox), the sender, the subject or
    /// the text.
    Anywhere,
    From,
    /// The address of the inbox.
    To,
    Subject,
    Text,
}

/// A text to search for. If it has an `@` after its first character, it is compared with the
/// beginning of an address, so that `u5@example.com` does not find `xu5@example.com`; any other
/// text may be anywhere in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchText {
    text: String,
    mail_domain: String,
}

impl MailFilter {
    /// Messages that contain a text anywhere.
    #[must_use]
    pub fn containing(text: SearchText) -> Self {
        let terms = if text.is_empty() {
            Vec::new()
        } else {
            vec![MailTerm {
                part: MailPart::Anywhere,
                text,
            }]
        };
        Self {
            terms,
            ..Self::default()
        }
    }

    /// Whether the texts of messages are compared.
    #[must_use]
    pub fn reads_text(&self) -> bool {
        self.terms.iter().any(|term| term.part.includes_text())
    }

    /// Whether any message may be excluded, other than by its position or as too old.
    #[must_use]
    pub fn is_any(&self) -> bool {
        let wants_feature = self.has != Features::default() || self.has_attachment;
        !self.terms.is_empty() || wants_feature || self.until.is_some()
    }
}

impl MailPart {
    /// Whether the text of a message is part of it.
    #[must_use]
    pub fn includes_text(self) -> bool {
        matches!(self, Self::Anywhere | Self::Text)
    }
}

impl SearchText {
    /// The text, without the spaces around it.
    #[must_use]
    pub fn new(text: &str, mail_domain: &Domain) -> Self {
        Self {
            text: text.trim().to_owned(),
            mail_domain: mail_domain.to_string(),
        }
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every address contains it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is the beginning of an address, with the whole local part.
    #[must_use]
    pub fn begins_address(&self) -> bool {
        self.text.find('@').is_some_and(|at| at > 0)
    }

    /// What follows the id of an inbox on the mail domain when its address is compared. The domain
    /// is compared only with a text that has an `@`, because otherwise a part of the domain would
    /// find every inbox.
    #[must_use]
    pub fn domain_part(&self) -> String {
        if self.text.contains('@') {
            format!("@{}", self.mail_domain)
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_is_compared_only_with_an_address() {
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        for (search, text, begins, domain) in [
            (
                " K3v9@Restante.Example.COM ",
                "K3v9@Restante.Example.COM",
                true,
                true,
            ),
            ("k3v9", "k3v9", false, false),
            ("ada@shop", "ada@shop", true, true),
            ("@shop.test", "@shop.test", false, true),
            ("restante.example.com", "restante.example.com", false, false),
            ("", "", false, false),
        ] {
            let searched = SearchText::new(search, &mail_domain);
            assert_eq!(
                (searched.as_str(), searched.begins_address()),
                (text, begins),
                "{search}"
            );
            assert_eq!(
                searched.domain_part(),
                if domain { "@restante.example.com" } else { "" },
                "{search}"
            );
        }
    }
}
