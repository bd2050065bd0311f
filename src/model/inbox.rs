//! An inbox and the id that is the local part of its address.

use std::fmt;

use rand::RngExt;
pub use restante_api::InboxKind;

use super::{Domain, EmailAddress, ProjectId, Timestamp};

/// Crockford's base32 in lower case, without `i`, `l`, `o` and `u`, which are easily misread.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Where the letters begin in [`ID_ALPHABET`].
const FIRST_LETTER: usize = 10;
/// 16 characters of 5 bits each: 10^23 addresses, too many to guess one.
const ID_CHARACTERS: usize = 16;

/// The text cannot be an inbox id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an inbox id")]
pub struct InvalidInboxId;

/// The local part of an inbox's address, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId(String);

impl InboxId {
    /// Generates a random id: 16 characters of base32, the first a letter.
    #[must_use]
    pub fn generate() -> Self {
        let mut random = rand::rng();
        let id = (0..ID_CHARACTERS).map(|position| {
            let first = if position == 0 { FIRST_LETTER } else { 0 };
            char::from(ID_ALPHABET[random.random_range(first..ID_ALPHABET.len())])
        });
        Self(id.collect())
    }

    /// The id of the inbox to which `address` leads. Local parts compare case-insensitively.
    #[must_use]
    pub fn of(address: &EmailAddress) -> Self {
        Self(address.local_part().to_lowercase())
    }

    /// Parses an id from outside, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidInboxId`] if it cannot be the local part of an address.
    pub fn parse(text: &str) -> Result<Self, InvalidInboxId> {
        let shortest_domain = Domain::parse("d").map_err(|_| InvalidInboxId)?;
        EmailAddress::new(text, shortest_domain).map(|address| Self::of(&address)).map_err(|_| InvalidInboxId)
    }

    /// An id that was validated before it was stored.
    pub(crate) fn from_stored(id: String) -> Self {
        Self(id)
    }

    /// The id without its `+tag`, if it has one.
    #[must_use]
    pub fn without_tag(&self) -> Option<Self> {
        self.0.split_once('+').filter(|(base, _)| !base.is_empty()).map(|(base, _)| Self(base.to_owned()))
    }

    /// The ids that a recipient may mean, in this order: with its `+tag`, and without.
    pub fn meant(&self) -> impl Iterator<Item = Self> + use<> {
        [Some(self.clone()), self.without_tag()].into_iter().flatten()
    }

    /// The address of the inbox.
    #[must_use]
    pub fn at(&self, mail_domain: &Domain) -> String {
        format!("{self}@{mail_domain}")
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InboxId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A live inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    /// The local part of its address.
    pub id: InboxId,
    /// The project to which it belongs.
    pub project: ProjectId,
    /// How long it exists.
    pub kind: InboxKind,
    /// When it was created, or created again after it had ended.
    pub created_at: Timestamp,
    /// When it expires; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
}

impl Inbox {
    /// The recipient address.
    #[must_use]
    pub fn address(&self, mail_domain: &Domain) -> String {
        self.id.at(mail_domain)
    }
}

/// A live inbox with the columns of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxSummary {
    /// The inbox.
    pub inbox: Inbox,
    /// How many messages it has.
    pub messages: i64,
    /// When the last message arrived, or when the inbox was created if it has no messages.
    pub active_at: Timestamp,
    /// The sender of the last message, if there is one.
    pub last_sender: Option<String>,
    /// The subject of the last message.
    pub last_subject: Option<String>,
    /// When the last message was accepted.
    pub last_received_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_are_16_characters_that_begin_with_a_letter() {
        for _ in 0..200 {
            let id = InboxId::generate();
            assert_eq!(id.as_str().len(), 16);
            assert!(id.as_str().starts_with(|first: char| first.is_ascii_lowercase()));
            assert!(id.as_str().bytes().all(|byte| ID_ALPHABET.contains(&byte)));
            assert_eq!(InboxId::parse(id.as_str()), Ok(id));
        }
    }

    #[test]
    fn ids_compare_without_case() {
        assert_eq!(InboxId::parse("Sign-Up"), InboxId::parse("sign-up"));
        assert_eq!(InboxId::parse("a b"), Err(InvalidInboxId));
        assert_eq!(InboxId::parse(""), Err(InvalidInboxId));
    }

    #[test]
    fn a_tag_is_what_follows_the_first_plus() {
        let without_tag = |id: &str| InboxId::parse(id).unwrap().without_tag().map(|id| id.0);
        assert_eq!(without_tag("shop+a+b"), Some("shop".to_owned()));
        assert_eq!(without_tag("shop"), None);
        assert_eq!(without_tag("+shop"), None);
    }
}
