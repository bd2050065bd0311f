//! An inbox, and how its id is generated.

use rand::RngExt;
pub use restante_api::InboxKind;

use super::{Domain, InboxEnd, InboxId, ProjectId, SharedAddress, Timestamp};

/// The mail domain without a setting: validators of addresses accept it.
pub const DEFAULT_MAIL_DOMAIN: &str = "restante.example.com";
/// Crockford's base32 in lower case, without `i`, `l`, `o` and `u`, which are easily misread.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Where the letters begin in [`ID_ALPHABET`].
const FIRST_LETTER: usize = 10;
/// 16 characters of 5 bits each: 10^23 addresses, too many to guess one.
const ID_CHARACTERS: usize = 16;

/// Generates a random id: 16 characters of base32, the first a letter.
#[must_use]
pub fn generate_inbox_id() -> InboxId {
    let mut random = rand::rng();
    let id = (0..ID_CHARACTERS).map(|position| {
        let first = if position == 0 { FIRST_LETTER } else { 0 };
        char::from(ID_ALPHABET[random.random_range(first..ID_ALPHABET.len())])
    });
    InboxId::from_stored(id.collect())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    /// Identifies it; on the mail domain, the local part of its address.
    pub id: InboxId,
    /// Its address, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
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
    #[must_use]
    pub fn address(&self, mail_domain: &Domain) -> String {
        address_of(&self.id, self.shared.as_ref(), mail_domain)
    }
}

/// The address of the inbox `id`: `shared`, or if there is none, the id at the mail domain.
#[must_use]
pub fn address_of(id: &InboxId, shared: Option<&SharedAddress>, mail_domain: &Domain) -> String {
    shared.map_or_else(|| id.at(mail_domain), SharedAddress::to_string)
}

/// An inbox that a search found; it may have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInbox {
    pub inbox: Inbox,
    pub label: Option<String>,
    /// How it ended, if it has.
    pub end: Option<InboxEnd>,
    /// When its last message arrived, or when it was created.
    pub active_at: Timestamp,
}

/// A live inbox with the columns of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxSummary {
    pub inbox: Inbox,
    /// Its label, for example the title of its test.
    pub label: Option<String>,
    /// How many messages it has.
    pub messages: i64,
    /// When the last message arrived, or when the inbox was created if it has no messages.
    pub active_at: Timestamp,
    /// The sender of the last message, if there is one.
    pub last_sender: Option<String>,
    /// The start of the subject of the last message, at most 1,001 characters.
    pub last_subject: Option<String>,
    /// When the last message was accepted.
    pub last_received_at: Option<Timestamp>,
    /// How many waits on it failed, of those whose explanation is kept. Counted only if the
    /// filter says so.
    pub timeouts: i64,
    /// How many recent rejections of mail to it are known. Counted only if the filter says so.
    pub rejections: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ids_are_16_characters_that_begin_with_a_letter() {
        for _ in 0..200 {
            let id = generate_inbox_id();
            assert_eq!(id.as_str().len(), 16);
            assert!(
                id.as_str()
                    .starts_with(|first: char| first.is_ascii_lowercase())
            );
            assert!(id.as_str().bytes().all(|byte| ID_ALPHABET.contains(&byte)));
            assert_eq!(InboxId::parse(id.as_str()), Ok(id));
        }
    }
}
