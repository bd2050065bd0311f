//! Messages as a test reads them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Example, Inbox, noon};

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Message {
    /// The message identifier, also the `after` cursor.
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    /// The inbox that contains the message.
    #[schemars(length(min = 1))]
    pub inbox_id: String,
    /// The first address of the From header; if it has none, the envelope sender, which may be
    /// empty.
    pub from: String,
    /// The recipient address, which is the inbox address.
    #[schemars(extend("pattern" = r"^[^@\s]+@[^@\s]+$"))]
    pub to: String,
    /// The decoded subject; empty if there is none.
    pub subject: String,
    /// The plain text. Lines end with \n; trailing line breaks are removed. If the message has only
    /// HTML: that HTML as readable text.
    pub text: String,
    /// The HTML; empty if there is none.
    pub html: String,
    /// Absolute URIs without duplicates: first those of the HTML, then those of the text, each in
    /// document order.
    pub links: Vec<String>,
    /// A labelled code of 4 to 8 digits; if none, the first 6-digit word; if none, empty.
    #[schemars(extend("pattern" = "^([0-9]{4,8})?$"))]
    pub otp: String,
    /// UTC, with milliseconds.
    #[schemars(extend("format" = "date-time"))]
    pub received_at: String,
}

/// The messages of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct MessageList<T = Message> {
    /// Newest first.
    pub messages: Vec<T>,
}

impl Example for Message {
    fn example() -> Self {
        let Inbox { id, address, .. } = Inbox::example();
        Self {
            id: "019aa0b1-7c3e-7d52-9f60-3b1f6f0f2c11".to_owned(),
            inbox_id: id,
            from: "shop@example.com".to_owned(),
            to: address,
            subject: "Confirm your account".to_owned(),
            text: "Your code is 482913.\nhttps://shop.example/confirm?token=abc".to_owned(),
            html: String::new(),
            links: vec!["https://shop.example/confirm?token=abc".to_owned()],
            otp: "482913".to_owned(),
            received_at: noon(),
        }
    }
}

impl Example for MessageList {
    fn example() -> Self {
        Self {
            messages: vec![Message::example()],
        }
    }
}
