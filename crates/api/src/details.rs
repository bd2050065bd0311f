//! Everything about one message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Example, Message, noon};

/// All details of one message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct MessageDetails {
    /// Identifies the message.
    pub id: String,
    /// The inbox that contains it.
    pub inbox_id: String,
    /// Bytes as received.
    pub size: usize,
    /// When it was accepted.
    #[schemars(extend("format" = "date-time"))]
    pub received_at: String,
    /// How it arrived.
    pub envelope: Envelope,
    /// The header fields, in order.
    pub headers: Vec<Header>,
    /// The authors.
    pub from: Vec<Mailbox>,
    /// The recipients in the header.
    pub to: Vec<Mailbox>,
    /// The recipients of copies.
    pub cc: Vec<Mailbox>,
    /// Where replies go.
    pub reply_to: Vec<Mailbox>,
    /// The Message-ID, with angle brackets.
    pub message_id: Option<String>,
    /// The Message-ID of the message to which it replies.
    pub in_reply_to: Option<String>,
    /// The date in the header.
    #[schemars(extend("format" = "date-time"))]
    pub date: Option<String>,
    /// The one-time code as in the field `otp` of the message: labelled digits, or the first
    /// six-digit number.
    pub otp: Option<Otp>,
    /// The code that a person would type, in any form: `otp` if it is labelled, or else a labelled
    /// code with letters or with 9 or 10 digits. The first of `codes`.
    pub code: Option<Code>,
    /// The labelled codes, each once. If there are several, the message has several labels with
    /// different codes.
    pub codes: Vec<Code>,
    /// The links, with their texts.
    pub links: Vec<Link>,
    /// The attachments.
    pub attachments: Vec<AttachmentInfo>,
    /// The List-Unsubscribe header.
    pub list_unsubscribe: Option<ListUnsubscribe>,
}

/// How a message arrived.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Envelope {
    /// Empty for the null reverse-path.
    pub from: String,
    /// The recipient.
    pub to: String,
    /// The name that the client gave in EHLO or HELO.
    pub helo: Option<String>,
    /// The client's address; null if this service composed the message.
    pub client: Option<String>,
    /// The TLS version; null without TLS.
    #[schemars(extend("enum" = ["TLSv1.2", "TLSv1.3", null]))]
    pub tls: Option<String>,
    /// Whether the client authenticated.
    pub authenticated: Option<bool>,
    /// The way by which it arrived; null for a report of this service.
    pub via: Option<Via>,
}

words! {
    /// The way by which a message arrived.
    pub enum Via {
        /// SMTP.
        Smtp = "smtp",
        /// Sent from an inbox.
        Api = "api",
        /// The API of Amazon SES.
        Ses = "ses",
        /// The API of Resend.
        Resend = "resend",
        /// The API of SendGrid.
        Sendgrid = "sendgrid",
        /// The API of Postmark.
        Postmark = "postmark",
        /// The API of Mailgun.
        Mailgun = "mailgun",
        /// The API of Mailpit.
        Mailpit = "mailpit",
    }
}

impl Via {
    /// The APIs of providers.
    pub const SEND_APIS: [Self; 5] = [
        Self::Ses,
        Self::Resend,
        Self::Sendgrid,
        Self::Postmark,
        Self::Mailgun,
    ];

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Smtp => "SMTP",
            Self::Api => "sent from an inbox",
            Self::Ses => "Amazon SES API",
            Self::Resend => "Resend API",
            Self::Sendgrid => "SendGrid API",
            Self::Postmark => "Postmark API",
            Self::Mailgun => "Mailgun API",
            Self::Mailpit => "Mailpit API",
        }
    }
}

/// A header field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Decoded, unfolded.
    pub value: String,
}

/// A name and an address in a header field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Mailbox {
    /// The display name.
    pub name: Option<String>,
    /// The address.
    pub address: Option<String>,
}

impl Mailbox {
    /// An address without a name.
    #[must_use]
    pub fn bare(address: String) -> Self {
        Self::named(None, address)
    }

    /// An address with this name, if it is not empty.
    #[must_use]
    pub fn named(name: Option<String>, address: String) -> Self {
        Self {
            name: name.filter(|name| !name.is_empty()),
            address: Some(address),
        }
    }
}

/// A one-time code, and how it was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Otp {
    /// The digits.
    #[schemars(extend("pattern" = "^[0-9]{4,8}$"))]
    pub code: String,
    /// The rule that recognised it.
    pub rule: OtpRule,
    /// Its line.
    pub line: String,
}

/// A labelled code in any form, and how it was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Code {
    /// As a person would type it: digits without spaces, or letters and digits with their hyphens.
    #[schemars(extend("pattern" = "^[0-9A-Za-z-]{4,32}$"))]
    pub code: String,
    /// The rule that recognised it.
    pub rule: OtpRule,
    /// Its line.
    pub line: String,
}

impl From<Code> for Otp {
    fn from(Code { code, rule, line }: Code) -> Self {
        Self { code, rule, line }
    }
}

words! {
    /// The rule that recognised a one-time code.
    pub enum OtpRule {
        /// In the format that is bound to a domain.
        DomainBound = "domain_bound",
        /// After a label.
        LabelBefore = "label_before",
        /// Before a label.
        LabelAfter = "label_after",
        /// Alone on the line below a label.
        AloneBelowLabel = "alone_below_label",
        /// In the same sentence as a label.
        SameSentence = "same_sentence",
        /// Alone on the line above a label.
        AloneAboveLabel = "alone_above_label",
        /// Without a label, because it has six digits.
        SixDigits = "six_digits",
    }
}

/// A link with its text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Link {
    /// Its target.
    pub url: String,
    /// The text of the link.
    pub text: Option<String>,
    /// Where it was found.
    pub source: LinkSource,
}

words! {
    /// Where a link was found.
    pub enum LinkSource {
        /// In the HTML.
        Html = "html",
        /// In the text.
        Text = "text",
    }
}

/// An attachment without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct AttachmentInfo {
    /// Counts from 0.
    pub index: usize,
    /// Its name.
    pub filename: Option<String>,
    /// Its media type.
    pub content_type: String,
    /// The size of the decoded bytes.
    pub size: usize,
    /// Its Content-ID.
    pub content_id: Option<String>,
    /// Whether it is shown in the message.
    pub inline: bool,
}

/// The List-Unsubscribe header.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct ListUnsubscribe {
    /// Its URLs.
    pub urls: Vec<String>,
    /// Whether one POST request unsubscribes.
    pub one_click: bool,
}

impl Example for MessageDetails {
    fn example() -> Self {
        let Message {
            id,
            inbox_id,
            to,
            subject,
            links,
            otp,
            ..
        } = Message::example();
        let line = format!("Your code is {otp}.");
        let code = Code {
            code: otp.clone(),
            rule: OtpRule::LabelBefore,
            line: line.clone(),
        };
        Self {
            id,
            inbox_id,
            size: 18_342,
            received_at: noon(),
            envelope: Envelope {
                from: "bounce@app.example".to_owned(),
                to,
                helo: Some("app".to_owned()),
                client: Some("127.0.0.1".to_owned()),
                tls: Some("TLSv1.3".to_owned()),
                authenticated: Some(false),
                via: Some(Via::Smtp),
            },
            headers: vec![Header {
                name: "Subject".to_owned(),
                value: subject.clone(),
            }],
            from: vec![Mailbox {
                name: Some("Shop".to_owned()),
                address: Some("shop@app.example".to_owned()),
            }],
            to: Vec::new(),
            cc: Vec::new(),
            reply_to: Vec::new(),
            message_id: Some("<1@app.example>".to_owned()),
            in_reply_to: None,
            date: Some("2026-11-20T09:30:01Z".to_owned()),
            otp: Some(Otp {
                code: otp.clone(),
                rule: OtpRule::LabelBefore,
                line: line.clone(),
            }),
            code: Some(code.clone()),
            codes: vec![code],
            links: links
                .into_iter()
                .map(|url| Link {
                    url,
                    text: Some(subject.clone()),
                    source: LinkSource::Html,
                })
                .collect(),
            attachments: vec![AttachmentInfo {
                index: 0,
                filename: Some("invoice.pdf".to_owned()),
                content_type: "application/pdf".to_owned(),
                size: 12_873,
                content_id: None,
                inline: false,
            }],
            list_unsubscribe: Some(ListUnsubscribe {
                urls: vec!["https://shop.example/out".to_owned()],
                one_click: true,
            }),
        }
    }
}
