//! The arguments of the tools. The comments of their fields are the descriptions that clients see.

use restante_api::{FaultAction, FaultPoint, MAX_FAULT_SECONDS, MAX_FAULT_TIMES};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::catalogue;
use super::error::ToolError;
use super::message::JsonObject;
use crate::model::{Features, HeaderFilter, MessageFilter};

/// Parses the arguments of a call; the schema contains the allowed names.
///
/// # Errors
/// [`ToolError::UnknownField`], [`ToolError::MissingField`], [`ToolError::OutOfRange`], or
/// [`ToolError::InvalidArguments`] for a wrong type.
pub(super) fn read<I: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<I, ToolError> {
    let schema = catalogue::input_schema(tool);
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in &arguments {
        let Some(field) = known.and_then(|known| known.get(name)) else {
            let fields = known.into_iter().flat_map(Map::keys).cloned();
            return Err(ToolError::UnknownField {
                name: name.chars().take(64).collect(),
                fields: fields.collect::<Vec<_>>().join(", "),
            });
        };
        check_range(name, value, field)?;
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for name in required {
        if !arguments.contains_key(name) {
            return Err(ToolError::MissingField(name.to_owned()));
        }
    }
    serde_json::from_value(Value::Object(arguments)).map_err(ToolError::InvalidArguments)
}

/// # Errors
/// [`ToolError::OutOfRange`] for a number that the schema of its field does not allow.
fn check_range(name: &str, value: &Value, field: &Value) -> Result<(), ToolError> {
    let (Some(least), Some(most)) = (field["minimum"].as_i64(), field["maximum"].as_i64()) else {
        return Ok(());
    };
    match value.as_number().map(Number::as_i64) {
        Some(number) if !number.is_some_and(|number| (least..=most).contains(&number)) => {
            Err(ToolError::OutOfRange {
                name: name.to_owned(),
                least,
                most,
            })
        }
        _ => Ok(()),
    }
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CreateInbox {
    /// The whole address, for a user that the application already has, such as ada@example.com. Its
    /// domain must be one that the server accepts; setup lists them. Leave it out for a new
    /// address.
    #[serde(default)]
    pub(super) address: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CheckMessage {
    /// The id of the message.
    pub(super) message: String,
    // The description of the tool explains it.
    #[serde(default)]
    pub(super) dns: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct InboxName {
    /// Its id or address.
    pub(super) inbox: String,
}

// Without a description, because the field that uses it has one.
#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Feature {
    Code,
    Link,
    Otp,
}

/// The filter for messages: those that match all of it, in upper or lower case.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Filter {
    /// Part of the subject.
    #[serde(default)]
    subject: String,
    /// Part of the sender's address.
    #[serde(default)]
    from: String,
    /// Part of the To or Cc field.
    #[serde(default)]
    to: String,
    /// Part of the text.
    #[serde(default)]
    text: String,
    /// A header field and a part of it: X-Campaign:welcome.
    #[serde(default)]
    header: String,
    /// All of these: a labelled code, a link, a code by the rules of the field otp.
    #[serde(default)]
    has: Vec<Feature>,
    /// Later than the message with this id.
    #[serde(default)]
    after: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Wait {
    /// Its id or address.
    pub(super) inbox: String,
    #[serde(flatten)]
    pub(super) filter: Filter,
    /// How many seconds to wait; 0 checks once. Many clients stop waiting after 60 seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 0, max = 120))]
    pub(super) timeout_seconds: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct List {
    /// Its id or address.
    pub(super) inbox: String,
    #[serde(flatten)]
    pub(super) filter: Filter,
    /// Earlier than the message with this id.
    #[serde(default)]
    pub(super) before: String,
    /// Maximum number of messages.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    pub(super) limit: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Search {
    /// Part of the address of the inbox, the sender, the subject or the text.
    #[serde(default)]
    pub(super) text: String,
    /// Only messages with a one-time code.
    #[serde(default)]
    pub(super) has_code: bool,
    /// Only messages with an attachment.
    #[serde(default)]
    pub(super) has_attachment: bool,
    /// Continues a search: `next_before` of the last result.
    #[serde(default)]
    pub(super) before: String,
    /// Maximum number of messages.
    #[serde(default = "default_found")]
    #[schemars(range(min = 1, max = 50))]
    pub(super) limit: usize,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Explain {
    /// Its id or address; it may have ended.
    pub(super) inbox: String,
    #[serde(flatten)]
    pub(super) filter: Filter,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetMessage {
    /// The id of the message.
    pub(super) message: String,
    /// Whether to also return the HTML.
    #[serde(default)]
    pub(super) html: bool,
    /// The first character of the text, and of the HTML, to return; used to read the rest after a
    /// cut.
    #[serde(default)]
    pub(super) start: usize,
    /// Maximum number of characters of the text, and of the HTML, to return.
    #[serde(default = "default_characters")]
    #[schemars(range(min = 1, max = 200_000))]
    pub(super) max_characters: usize,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetAttachment {
    /// The id of the message.
    pub(super) message: String,
    /// The number of the attachment, from 0, as get_message lists them.
    pub(super) index: usize,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Send {
    /// The id or the address of the inbox that sends.
    pub(super) inbox: String,
    /// The recipient, one bare address.
    pub(super) to: String,
    /// The subject, one line.
    pub(super) subject: String,
    /// The plain text.
    #[serde(default)]
    pub(super) text: String,
    /// The HTML, if there is any.
    #[serde(default)]
    pub(super) html: String,
    /// The id of the message that this one replies to.
    #[serde(default)]
    pub(super) in_reply_to: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetOutgoing {
    /// The id that send_message returned.
    pub(super) id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SetFaults {
    /// Its id or address.
    pub(super) inbox: String,
    /// At most 20, in the order in which they are used.
    pub(super) faults: Vec<Fault>,
}

/// One fault.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Fault {
    /// When: `rcpt`, at the RCPT TO of this inbox, or `data`, once the message has been received.
    #[schemars(with = "FaultPoint")]
    at: String,
    /// What: `defer` is a 4xx reply, `reject` a 5xx reply; `disconnect` closes the connection
    /// without a reply, and `reset` resets it; `delay` delays the reply by `seconds`. Only at
    /// `data`: `bounce` accepts the message, does not store it and sends a delivery status
    /// notification to the sender; `drop` accepts and loses it; `duplicate` stores it twice.
    #[serde(rename = "do")]
    #[schemars(with = "FaultAction")]
    action: String,
    /// How often the fault applies.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = MAX_FAULT_TIMES))]
    times: u32,
    /// For `defer` and `reject`: one line with 4xx or 5xx and an enhanced code.
    #[serde(default)]
    reply: String,
    /// How many seconds `delay` delays the reply.
    #[serde(default)]
    #[schemars(with = "u16", range(min = 1, max = MAX_FAULT_SECONDS))]
    seconds: Option<u16>,
    /// Whether `disconnect` or `reset` at `data` stores the message first.
    #[serde(default)]
    #[schemars(with = "bool")]
    store: Option<bool>,
}

impl Fault {
    pub(super) fn fields(self) -> restante_api::Fault {
        restante_api::Fault {
            at: Some(self.at),
            action: Some(self.action),
            times: Some(self.times),
            reply: given(self.reply),
            seconds: self.seconds,
            store: self.store,
        }
    }
}

fn once() -> u32 {
    1
}

/// Shorter than the time that clients wait for a tool.
fn default_timeout() -> u64 {
    25
}

fn default_limit() -> u64 {
    20
}

fn default_found() -> usize {
    20
}

fn default_characters() -> usize {
    20_000
}

impl GetMessage {
    /// What is shown of a message unless the caller wants something else.
    pub(super) fn start_of(message: String) -> Self {
        Self {
            message,
            html: false,
            start: 0,
            max_characters: default_characters(),
        }
    }
}

/// The text; `None` if it is empty, because in a query this means absent.
pub(super) fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl Filter {
    /// # Errors
    /// [`ToolError::InvalidField`] for a text that is too long.
    pub(super) fn resolve(self) -> Result<MessageFilter, ToolError> {
        let has = |feature| self.has.contains(&feature);
        let has = Features {
            otp: has(Feature::Otp),
            code: has(Feature::Code),
            link: has(Feature::Link),
        };
        let filter = MessageFilter {
            subject: given(self.subject),
            from: given(self.from),
            to: given(self.to),
            text: given(self.text),
            header: given(self.header)
                .map(|text| HeaderFilter::parse(&text))
                .transpose()?,
            has,
            after: given(self.after),
            client: None,
        };
        Ok(filter.checked()?)
    }
}
