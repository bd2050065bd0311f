//! A received message.

use std::fmt;

use uuid::Uuid;

use super::{InboxId, InvalidId, SharedAddress, Timestamp, parse_id};

/// Identifies a message; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// What a message has, or what a filter requires it to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

/// A received message, the way a list shows it.
#[derive(Clone, Debug)]
pub struct MessageStart {
    /// Identifies it; also the `after` cursor.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// The address of the inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// The start of its text.
    pub text: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The labelled code in any form; empty if there is none.
    pub code: String,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
}
