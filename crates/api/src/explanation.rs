//! Why a message did not arrive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Example, Inbox, Message, noon};

/// The explanation of a missing message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct Explanation {
    /// One sentence for a person.
    pub summary: String,
    /// The sentence, then the newest messages, the rejections and the other inboxes that it does not
    /// name, in lines: what a client prints about a wait that failed.
    pub report: String,
    /// The cause in the summary, for programs.
    pub cause: Cause,
    /// The inbox; null if it has ended.
    pub inbox: Option<Inbox>,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
    /// The messages in it.
    pub messages: ArrivedMessages,
    /// What was rejected since the inbox was created, or for a wait that timed out, since five
    /// minutes before it. Mail to this inbox is first.
    #[schemars(length(max = 10))]
    pub refused: Vec<Refused>,
    /// Similar addresses that received mail.
    #[schemars(length(max = 5))]
    pub similar: Vec<Similar>,
    /// The use of SMTP at the whole installation.
    pub smtp: SmtpUse,
    /// When each API for sending was last used at the whole installation.
    pub send_apis: SendApisUse,
}

words! {
    /// Why a message did not arrive. Each word has one meaning.
    pub enum Cause {
        /// The inbox has expired.
        InboxExpired = "inbox_expired",
        /// The inbox was deleted.
        InboxDeleted = "inbox_deleted",
        /// A matching message arrived just after the wait had ended.
        Late = "late",
        /// A matching message is in the inbox.
        Arrived = "arrived",
        /// A message arrived although the wait expected none.
        Unexpected = "unexpected",
        /// Messages arrived, but the filters exclude them.
        FilterMissed = "filter_missed",
        /// A message arrived that only the cursor `after` excludes, and none after it.
        NothingNew = "nothing_new",
        /// A fault that a test had requested rejected or dropped the message.
        Fault = "fault",
        /// The message has line ends without CR.
        BareLineEnd = "bare_line_end",
        /// The inbox is full.
        InboxFull = "inbox_full",
        /// The mail went to a domain that the server does not accept.
        OtherDomain = "other_domain",
        /// Mail to the inbox was rejected for another reason.
        Rejected = "rejected",
        /// Mail arrived at an address that differs in a few characters.
        Typo = "typo",
        /// Mail arrived at an address that no test had created.
        OtherAddress = "other_address",
        /// The client failed to log in.
        LoginFailed = "login_failed",
        /// TLS failed.
        TlsFailed = "tls_failed",
        /// The client used a port for another protocol.
        WrongPort = "wrong_port",
        /// A session ended without mail: before it named a recipient, or in its message.
        NoMail = "no_mail",
        /// Clients have connected, but nothing arrived at the inbox.
        SentElsewhere = "sent_elsewhere",
        /// No client has connected.
        NothingConnected = "nothing_connected",
    }
}

/// How an inbox ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Ended {
    /// `expired` or `deleted`.
    pub reason: EndReason,
    /// When it ended.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
}

words! {
    /// Why an inbox ended.
    pub enum EndReason {
        /// Its time was up.
        Expired = "expired",
        /// It was deleted.
        Deleted = "deleted",
    }
}

/// How many messages are in the inbox, and the newest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct ArrivedMessages {
    /// How many there are.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// The newest.
    #[schemars(length(max = 10))]
    pub latest: Vec<Arrived>,
}

/// A received message, with the filters that exclude it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Arrived {
    /// Identifies the message; also the cursor `after`.
    pub id: String,
    /// The sender's address.
    pub from: String,
    /// The subject.
    pub subject: String,
    /// When it was accepted.
    #[schemars(extend("format" = "date-time"))]
    pub received_at: String,
    /// The filters that exclude it.
    pub missed_by: Vec<MissedBy>,
}

words! {
    /// A filter that excludes a message.
    pub enum MissedBy {
        /// `subject`.
        Subject = "subject",
        /// `from`.
        From = "from",
        /// `to`.
        To = "to",
        /// `text`.
        Text = "text",
        /// `header`.
        Header = "header",
        /// `has`.
        Has = "has",
        /// `after`.
        After = "after",
        /// What only the client compares: it had the message and asked for a later one.
        Client = "client",
    }
}

/// Mail that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Refused {
    /// When it was rejected.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// The client's address.
    pub client: String,
    /// The reverse path.
    pub sender: String,
    /// The recipient.
    pub recipient: String,
    /// The reply to the client.
    pub reply: String,
}

/// Another inbox that received mail.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Similar {
    /// Its address.
    pub address: String,
    /// How many messages it has.
    #[schemars(range(min = 0))]
    pub messages: i64,
    /// When the last one arrived.
    #[schemars(extend("format" = "date-time"))]
    pub last_received_at: String,
}

/// The use of SMTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct SmtpUse {
    /// How many connections are open.
    #[schemars(range(min = 0))]
    pub connections_open: i64,
    /// When the last client connected.
    #[schemars(extend("format" = "date-time"))]
    pub last_connection_at: Option<String>,
    /// When the last message was accepted.
    #[schemars(extend("format" = "date-time"))]
    pub last_message_at: Option<String>,
}

/// When each API for sending was last used; null if it was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct SendApisUse {
    /// Amazon SES.
    #[schemars(extend("format" = "date-time"))]
    pub ses: Option<String>,
    /// Resend.
    #[schemars(extend("format" = "date-time"))]
    pub resend: Option<String>,
    /// SendGrid.
    #[schemars(extend("format" = "date-time"))]
    pub sendgrid: Option<String>,
    /// Postmark.
    #[schemars(extend("format" = "date-time"))]
    pub postmark: Option<String>,
    /// Mailgun.
    #[schemars(extend("format" = "date-time"))]
    pub mailgun: Option<String>,
}

impl Example for Explanation {
    fn example() -> Self {
        let Message { id, from, to, .. } = Message::example();
        Self {
            summary: "Nothing has connected over SMTP since this inbox was created 32 s ago. Is 127.0.0.1:1025 the \
                      application's SMTP server, or has the application not tried to send?"
                .to_owned(),
            report: "Nothing has connected over SMTP since this inbox was created 32 s ago. Is 127.0.0.1:1025 the \
                     application's SMTP server, or has the application not tried to send?\n\
                     In the inbox (2), newest first:\n  2026-11-20T09:30:00.123Z \"Welcome\" from shop@app.example, \
                     not: subject"
                .to_owned(),
            cause: Cause::NothingConnected,
            inbox: None,
            ended: Some(Ended { reason: EndReason::Expired, at: "2026-11-20T10:30:00.123Z".to_owned() }),
            messages: ArrivedMessages {
                count: 2,
                latest: vec![Arrived {
                    id,
                    from: from.clone(),
                    subject: "Welcome".to_owned(),
                    received_at: noon(),
                    missed_by: vec![MissedBy::Subject],
                }],
            },
            refused: vec![Refused {
                at: noon(),
                client: "127.0.0.1".to_owned(),
                sender: from,
                recipient: to,
                reply: "550 5.6.11 Bare CR or LF in the message".to_owned(),
            }],
            similar: vec![Similar {
                address: "k3v8w0qdm4xt2p7h@restante.example.com".to_owned(),
                messages: 1,
                last_received_at: noon(),
            }],
            smtp: SmtpUse { connections_open: 1, last_connection_at: Some(noon()), last_message_at: None },
            send_apis: SendApisUse { resend: Some(noon()), ..SendApisUse::default() },
        }
    }
}
