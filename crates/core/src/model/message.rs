//! A received message.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Domain, InboxId, InvalidId, SharedAddress, parse_id};

/// Identifies a message; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct MessageId(pub Uuid);

impl MessageId {
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Parses an id from outside: the hyphenated form, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        parse_id(text).map(Self)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An inbox that a message has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub inbox: InboxId,
    pub shared: Option<SharedAddress>,
    /// The recipients as addressed, one on each line, if not only the inbox's address.
    pub recipients: Option<String>,
}

impl Reached {
    /// The recipients of the message there.
    pub fn addresses(&self, mail_domain: &Domain) -> impl Iterator<Item = String> {
        let own = match &self.shared {
            Some(address) => address.as_str(),
            None => self.inbox.as_str(),
        };
        let named = self.recipients.as_deref().unwrap_or(own).lines();
        named.map(move |name| match self.shared {
            Some(_) => name.to_owned(),
            None => format!("{name}@{mail_domain}"),
        })
    }
}

/// What a message has, or what a filter requires it to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Features {
    /// A one-time code as the contract defines it: `otp`.
    pub otp: bool,
    /// A labelled code in any form.
    pub code: bool,
    /// At least one link.
    pub link: bool,
}

impl Features {
    /// The words of the features.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let words = [("otp", self.otp), ("code", self.code), ("link", self.link)];
        words
            .into_iter()
            .filter_map(|(word, wanted)| wanted.then_some(word))
            .collect()
    }

    /// Whether it has all that `wanted` has.
    #[must_use]
    pub fn has_all(self, wanted: Self) -> bool {
        (self.otp || !wanted.otp) && (self.code || !wanted.code) && (self.link || !wanted.link)
    }
}
