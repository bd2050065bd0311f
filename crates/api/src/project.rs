//! What a project contains: all its inboxes and messages, for a person or a tool that looks at it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Example, Inbox, Message};

/// A page of the inboxes of a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct InboxList {
    /// Those with the latest activity first.
    pub inboxes: Vec<InboxSummary>,
    /// The value of `after` for the next page; null at the end of the list.
    pub next: Option<String>,
}

/// An inbox in a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct InboxSummary {
    /// The inbox.
    #[serde(flatten)]
    pub inbox: Inbox,
    /// How many messages it has.
    #[schemars(range(min = 0))]
    pub messages: i64,
    /// When the last message arrived; null if there is none.
    #[schemars(extend("format" = "date-time"))]
    pub last_received_at: Option<String>,
}

/// A page of the messages of a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct ProjectMessages {
    /// Newest first.
    pub messages: Vec<MessageSummary>,
    /// The value of `before` for the next page; null at the end of the list. A page can be empty
    /// before the end, because a search takes a limited time.
    pub next: Option<String>,
}

/// A message in a list of a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct MessageSummary {
    /// The message identifier.
    pub id: String,
    /// The inbox that contains the message.
    pub inbox_id: String,
    /// The first address of the From header; if it has none, the envelope sender, which may be
    /// empty.
    pub from: String,
    /// The recipient address.
    pub to: String,
    /// The decoded subject; empty if there is none.
    pub subject: String,
    /// The code that a person would type, as in the details of the message; empty if there is none.
    pub code: String,
    /// The number of attachments.
    #[schemars(range(min = 0))]
    pub attachments: i64,
    /// UTC, with milliseconds.
    #[schemars(extend("format" = "date-time"))]
    pub received_at: String,
}

/// Which inboxes of a project to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListInboxesQuery {
    /// Only inboxes whose address contains this text, without regard to case. A text with an `@`
    /// after its first character must be the beginning of the address.
    pub search: String,
    /// Maximum number of inboxes, 1 to 1000; 100 by default.
    #[schemars(with = "u64", range(min = 1, max = 1_000))]
    pub limit: String,
    /// `next` of the page before. Empty counts as absent.
    pub after: String,
}

/// Which messages of a project to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchMessagesQuery {
    /// Only messages whose inbox, sender, subject or text contains this text, without regard to
    /// case. With an `@` after its first character, it must be the beginning of an address of inbox
    /// or sender, or anywhere in subject or text.
    pub search: String,
    /// Maximum number of messages, 1 to 100; 50 by default.
    #[schemars(with = "u64", range(min = 1, max = 100))]
    pub limit: String,
    /// `next` of the page before. Empty counts as absent.
    pub before: String,
}

impl Example for InboxList {
    fn example() -> Self {
        let last_received_at = Some(Message::example().received_at);
        let inboxes = vec![InboxSummary {
            inbox: Inbox::example(),
            messages: 1,
            last_received_at,
        }];
        Self {
            inboxes,
            next: None,
        }
    }
}

impl Example for ProjectMessages {
    fn example() -> Self {
        let Message {
            id,
            inbox_id,
            from,
            to,
            subject,
            otp: code,
            received_at,
            ..
        } = Message::example();
        let message = MessageSummary {
            id,
            inbox_id,
            from,
            to,
            subject,
            code,
            attachments: 0,
            received_at,
        };
        Self {
            messages: vec![message],
            next: Some("4711".to_owned()),
        }
    }
}
