//! The id of an inbox, which is the local part of its address.

use std::fmt;
use std::sync::Arc;

use restante_mail::{Domain, EmailAddress, without_tag};
use serde::{Deserialize, Serialize};

/// The text cannot be an inbox id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an inbox id")]
pub struct InvalidInboxId;

/// Any id is valid if its address at this domain is.
const ANY_DOMAIN: &str = "d";

/// The local part of an inbox's address, in lower case, with quotes if it needs them. A clone does
/// not copy the text: a delivery has several.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct InboxId(Arc<str>);

impl InboxId {
    /// The id of the inbox to which `address` leads. Local parts compare case-insensitively.
    #[must_use]
    pub fn of(address: &EmailAddress) -> Self {
        Self(address.local_part().to_lowercase().into())
    }

    /// Parses an id from outside, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidInboxId`] if it cannot be the local part of an address.
    pub fn parse(text: &str) -> Result<Self, InvalidInboxId> {
        EmailAddress::parse(&format!("{text}@{ANY_DOMAIN}"))
            .map(|address| Self::of(&address))
            .map_err(|_| InvalidInboxId)
    }

    /// An id that was validated before it was stored.
    #[must_use]
    pub fn from_stored(id: String) -> Self {
        Self(id.into())
    }

    /// The id without its `+tag`, if it has one.
    #[must_use]
    pub fn without_tag(&self) -> Option<Self> {
        without_tag(&self.0).map(|base| Self(base.into()))
    }

    /// The ids that a recipient may mean, in this order: with its `+tag`, and without.
    pub fn meant(&self) -> impl Iterator<Item = Self> + use<> {
        [Some(self.clone()), self.without_tag()]
            .into_iter()
            .flatten()
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

impl From<String> for InboxId {
    fn from(stored: String) -> Self {
        Self::from_stored(stored)
    }
}

impl From<InboxId> for String {
    fn from(id: InboxId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for InboxId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn ids_compare_without_case() {
        assert_eq!(InboxId::parse("Sign-Up"), InboxId::parse("sign-up"));
        assert_eq!(InboxId::parse("Sign-Up").unwrap().as_str(), "sign-up");
        assert_eq!(InboxId::parse("a b"), Err(InvalidInboxId));
        assert_eq!(InboxId::parse("\"A b\"").unwrap().as_str(), "\"a b\"");
        assert_eq!(InboxId::parse("a@b"), Err(InvalidInboxId));
        assert_eq!(InboxId::parse(""), Err(InvalidInboxId));
    }

    #[test]
    fn the_tag_starts_at_the_first_plus() {
        let without_tag = |id: &str| InboxId::parse(id).unwrap().without_tag();
        assert_eq!(without_tag("shop+a+b"), Some(InboxId("shop".into())));
        assert_eq!(without_tag("shop"), None);
        assert_eq!(without_tag("+shop"), None);
        assert_eq!(
            without_tag("\"odd 1+a\""),
            Some(InboxId("\"odd 1\"".into()))
        );
    }
}
