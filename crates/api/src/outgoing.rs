//! Sending from an inbox, and its results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Example, Inbox};

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageBody {
    /// One bare address: no display name, no angle brackets. On the mail domain of the service, the
    /// address of a live inbox.
    #[schemars(extend("format" = "idn-email"))]
    pub to: String,
    /// Without control characters.
    #[schemars(extend("pattern" = r"^[^\u0000-\u001f\u007f-\u009f]*$"))]
    pub subject: String,
    /// The plain-text body. If text and html are both missing, the text is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<String>,
    /// The HTML body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub html: Option<String>,
    /// The id of the message to reply to, of the calling key; sets In-Reply-To and References.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub in_reply_to: Option<String>,
}

/// Forwards a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-extension" = true))]
pub struct ForwardBody {
    /// The recipient, one bare address.
    pub to: String,
}

impl Example for ForwardBody {
    fn example() -> Self {
        Self {
            to: "me@company.example".to_owned(),
        }
    }
}

/// An accepted message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SendAccepted {
    /// Identifies the queued outgoing item.
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    /// `queued`: the message is stored and will be delivered.
    #[schemars(extend("const" = "queued"))]
    pub status: String,
}

/// An outgoing message, with every attempt to send it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct Outgoing {
    /// Identifies it.
    pub id: String,
    /// The inbox that sends it.
    pub inbox_id: String,
    /// The recipient.
    pub to: String,
    /// The subject; the first 1,000 characters of a longer one.
    pub subject: String,
    /// Its state.
    pub status: OutgoingStatus,
    /// Every attempt, oldest first.
    pub attempts: Vec<Attempt>,
    /// When the next attempt is due; null if there is none.
    #[schemars(extend("format" = "date-time"))]
    pub next_attempt_at: Option<String>,
    /// When it was sent.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
}

words! {
    /// The state of an outgoing message.
    pub enum OutgoingStatus {
        /// It waits for the next attempt, or an attempt is running.
        Queued = "queued",
        /// It was delivered.
        Sent = "sent",
        /// It was rejected permanently or has expired; the sender's inbox has a bounce.
        Failed = "failed",
        /// An administrator removed it from the queue.
        Cancelled = "cancelled",
    }
}

/// One attempt to send a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Attempt {
    /// When it started.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The server's reply or the error, on one line.
    pub reply: String,
}

impl Example for SendMessageBody {
    fn example() -> Self {
        Self {
            to: "someone@example.com".to_owned(),
            subject: "Hello".to_owned(),
            text: Some("Hello!\n".to_owned()),
            ..Self::default()
        }
    }
}

impl Example for SendAccepted {
    fn example() -> Self {
        Self {
            id: "019aa0b1-8a10-7c44-8e0d-5d2f8c9b7a01".to_owned(),
            status: "queued".to_owned(),
        }
    }
}

impl Example for Outgoing {
    fn example() -> Self {
        Self {
            id: SendAccepted::example().id,
            inbox_id: Inbox::example().id,
            to: "someone@example.com".to_owned(),
            subject: "Hello".to_owned(),
            status: OutgoingStatus::Queued,
            attempts: vec![Attempt {
                at: Some("2026-11-20T09:30:03.000Z".to_owned()),
                server: Some("mx.example.com".to_owned()),
                reply: "mx.example.com [192.0.2.1]:25 answered RCPT with 451 4.7.1 try again later"
                    .to_owned(),
            }],
            next_attempt_at: Some("2026-11-20T09:31:03.000Z".to_owned()),
            created_at: "2026-11-20T09:30:02.900Z".to_owned(),
        }
    }
}
