//! A recipient: an address on the mail domain, which names one inbox, or a shared address.

use std::fmt;

use restante_mail::{Domain, EmailAddress, without_tag};
use serde::{Deserialize, Serialize};

use crate::InboxId;

/// An address on an accepted domain other than the mail domain, in lower case: `ada@example.com`.
/// Each project can have an inbox of its own with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct SharedAddress(String);

/// A recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipient {
    /// On the mail domain, where the local part is the id of the inbox.
    Inbox(InboxId),
    /// On another accepted domain.
    Shared(SharedAddress),
}

impl SharedAddress {
    /// The address as inboxes have it. Local parts compare case-insensitively.
    #[must_use]
    pub fn of(address: &EmailAddress) -> Self {
        Self(format!(
            "{}@{}",
            address.local_part().to_lowercase(),
            address.domain()
        ))
    }

    /// An address that was validated before it was stored.
    #[must_use]
    pub fn from_stored(address: String) -> Self {
        Self(address)
    }

    /// The address without its `+tag`, if it has one.
    #[must_use]
    pub fn without_tag(&self) -> Option<Self> {
        // A local part has no @.
        let (local_part, domain) = self.0.split_once('@')?;
        let base = without_tag(local_part)?;
        Some(Self(format!("{base}@{domain}")))
    }

    /// The addresses that a recipient may mean, in this order: with its `+tag`, and without.
    pub fn meant(&self) -> impl Iterator<Item = Self> + use<> {
        [Some(self.clone()), self.without_tag()]
            .into_iter()
            .flatten()
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Recipient {
    /// The recipient with this address, which is on the mail domain or on an accepted one.
    #[must_use]
    pub fn of(address: &EmailAddress, mail_domain: &Domain) -> Self {
        if address.domain() == mail_domain {
            Self::Inbox(InboxId::of(address))
        } else {
            Self::Shared(SharedAddress::of(address))
        }
    }

    /// The recipients that it may mean, in this order: with its `+tag`, and without.
    pub fn meant(&self) -> impl Iterator<Item = Self> + use<> {
        let untagged = match self {
            Self::Inbox(id) => id.without_tag().map(Self::Inbox),
            Self::Shared(address) => address.without_tag().map(Self::Shared),
        };
        [Some(self.clone()), untagged].into_iter().flatten()
    }

    /// Whether it has a `+tag`.
    #[must_use]
    pub fn has_tag(&self) -> bool {
        self.meant().nth(1).is_some()
    }

    /// The whole address.
    #[must_use]
    pub fn at(&self, mail_domain: &Domain) -> String {
        match self {
            Self::Inbox(id) => id.at(mail_domain),
            Self::Shared(address) => address.to_string(),
        }
    }
}

impl From<InboxId> for Recipient {
    fn from(id: InboxId) -> Self {
        Self::Inbox(id)
    }
}

impl fmt::Display for SharedAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The id of the inbox, or the shared address.
impl fmt::Display for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inbox(id) => id.fmt(formatter),
            Self::Shared(address) => address.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn mail_domain() -> Domain {
        Domain::parse("restante.example.com").unwrap()
    }

    fn recipient(address: &str) -> Recipient {
        Recipient::of(&EmailAddress::parse(address).unwrap(), &mail_domain())
    }

    #[test]
    fn a_recipient_has_a_whole_address() {
        for (address, whole) in [
            ("Ada@Restante.Example.com", "ada@restante.example.com"),
            ("Ada+X@Bücher.example", "ada+x@xn--bcher-kva.example"),
        ] {
            assert_eq!(recipient(address).at(&mail_domain()), whole);
        }
    }

    #[test]
    fn only_the_mail_domain_has_inboxes_by_name() {
        assert_eq!(
            recipient("Ada@Restante.Example.com"),
            Recipient::Inbox(InboxId::parse("ada").unwrap())
        );
        assert_eq!(
            recipient("Ada@Bücher.example").to_string(),
            "ada@xn--bcher-kva.example"
        );
        assert_eq!(recipient("Jörg@example.com"), recipient("JÖRG@EXAMPLE.COM"));
    }

    #[test]
    fn the_tag_starts_at_the_first_plus_of_the_local_part() {
        let meant = |address: &str| {
            recipient(address)
                .meant()
                .map(|it| it.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            meant("ada+a+b@example.com"),
            ["ada+a+b@example.com", "ada@example.com"]
        );
        assert_eq!(meant("+ada@example.com"), ["+ada@example.com"]);
        assert_eq!(meant("ada+x@restante.example.com"), ["ada+x", "ada"]);
    }
}
