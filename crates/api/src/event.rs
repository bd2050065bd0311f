//! What happened to an inbox, in order.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Example, noon};

/// The timeline of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct EventList {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The value of `after` for the events that are not in this answer. It is opaque.
    pub next: String,
}

/// One event. A field that its kind does not have is missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Event {
    /// When it happened.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// What happened.
    pub kind: EventKind,
    /// The event in one line.
    pub text: String,
    /// Of a wait: its filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filters: Option<EventFilters>,
    /// Of the end of a wait, or of an attempt to send: its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The message: stored, found by a wait, or sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Of a wait that timed out: the page that explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The client's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The TLS version of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// Of an SMTP session: its commands and replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Exchange>,
}

/// An SMTP command with its reply. It never contains a password, a body or a key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Exchange {
    /// The command; empty for the greeting.
    pub command: Cow<'static, str>,
    /// The reply; empty if there was none.
    pub reply: Cow<'static, str>,
}

/// The filters of a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct EventFilters {
    /// The filter for the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The filter for the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The filter for the To and Cc headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The filter for the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The filter for a header field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What the message must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// The cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What only the client compares, as it describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The timeout in milliseconds.
    #[schemars(range(min = 0))]
    pub timeout: u64,
}

impl EventFilters {
    /// The filters that are given, each with its name and its text.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let after = self.after.as_ref().map(|_| "an earlier message");
        let filters = [
            ("subject", self.subject.as_deref()),
            ("from", self.from.as_deref()),
            ("to", self.to.as_deref()),
            ("text", self.text.as_deref()),
            ("header", self.header.as_deref()),
            ("has", self.has.as_deref()),
            ("after", after),
            ("client", self.client.as_deref()),
        ];
        let given = filters.into_iter();
        given.filter_map(|(name, value)| Some((name, value?)))
    }
}

words! {
    /// What happened.
    pub enum EventKind {
        /// The inbox was created.
        Created = "created",
        /// A request to create the inbox found that it exists.
        Claimed = "claimed",
        /// A wait started.
        WaitStarted = "wait_started",
        /// A wait ended.
        WaitEnded = "wait_ended",
        /// An SMTP session named the inbox.
        Smtp = "smtp",
        /// A message arrived over an API for sending.
        SendApi = "send_api",
        /// A fault was used.
        FaultUsed = "fault_used",
        /// A message was stored.
        Stored = "stored",
        /// Mail to the inbox was rejected.
        Refused = "refused",
        /// A message was sent from the inbox, or an attempt was made.
        Sent = "sent",
        /// The inbox has expired.
        Expired = "expired",
        /// The inbox was deleted.
        Deleted = "deleted",
    }
}

impl Event {
    /// An event with only these fields.
    #[must_use]
    pub fn new(at: String, kind: EventKind, text: String) -> Self {
        Self {
            at,
            kind,
            text,
            filters: None,
            outcome: None,
            message_id: None,
            failure: None,
            client: None,
            tls: None,
            commands: Vec::new(),
        }
    }
}

impl Example for EventList {
    fn example() -> Self {
        let rejected =
            "An SMTP session of 127.0.0.1: 550 5.6.11 Bare CR or LF in the message".to_owned();
        let exchange = |command: &'static str, reply: &'static str| Exchange {
            command: command.into(),
            reply: reply.into(),
        };
        Self {
            events: vec![Event {
                client: Some("127.0.0.1".to_owned()),
                commands: vec![
                    exchange("EHLO", "250 restante.example.com"),
                    exchange("MAIL FROM:<app@app.example>", "250 2.1.0 Sender accepted"),
                ],
                ..Event::new(noon(), EventKind::Smtp, rejected)
            }],
            next: "1795167002456".to_owned(),
        }
    }
}
