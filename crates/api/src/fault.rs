//! Faults: errors of the mail server that a test injects for its inbox.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Example, noon};

/// Maximum number of faults of an inbox.
pub const MAX_FAULTS: usize = 20;
/// Maximum number of times that a fault applies.
pub const MAX_FAULT_TIMES: u32 = 1_000;
/// Maximum delay.
pub const MAX_FAULT_SECONDS: u16 = 300;

/// A fault as requested. Every field is optional here, so that a missing one can be named in the
/// error; the schema describes which fields belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The word of a [`FaultPoint`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The word of a [`FaultAction`].
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How often it applies; once by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The reply of `defer` and `reject`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The duration of `delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u16>,
    /// With `disconnect` and `reset` at `data`: whether the message is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
}

words! {
    /// When a fault applies.
    pub enum FaultPoint {
        /// At RCPT TO.
        Rcpt = "rcpt",
        /// When the message has been received.
        Data = "data",
    }
}

words! {
    /// What goes wrong.
    pub enum FaultAction {
        /// A 4xx reply.
        Defer = "defer",
        /// A 5xx reply.
        Reject = "reject",
        /// The connection is closed without a reply.
        Disconnect = "disconnect",
        /// The connection is reset without a reply.
        Reset = "reset",
        /// The reply is delayed.
        Delay = "delay",
        /// The message is accepted but not stored, and its sender gets a delivery status
        /// notification.
        Bounce = "bounce",
        /// The message is accepted but not stored, and nobody is notified.
        Drop = "drop",
        /// The message is stored twice.
        Duplicate = "duplicate",
    }
}

/// Replaces the faults of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetFaultsBody<T = Fault> {
    /// In the order in which they are used.
    #[schemars(length(max = MAX_FAULTS))]
    pub faults: Vec<T>,
}

/// The faults of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct FaultList {
    /// In the order in which they are used.
    #[schemars(length(max = MAX_FAULTS))]
    pub faults: Vec<FaultState>,
}

/// A fault as given, with its uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct FaultState {
    /// When it applies.
    pub at: FaultPoint,
    /// What goes wrong.
    #[serde(rename = "do")]
    pub action: FaultAction,
    /// How often it applies.
    #[schemars(range(min = 1, max = MAX_FAULT_TIMES))]
    pub times: u32,
    /// The reply of `defer` and `reject`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reply: Option<String>,
    /// How many seconds `delay` delays the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = MAX_FAULT_SECONDS))]
    pub seconds: Option<u16>,
    /// Whether `disconnect` or `reset` at `data` stores the message first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub store: Option<bool>,
    /// How often it still applies.
    pub left: u32,
    /// How often it was used.
    pub used: u32,
    /// The times of its uses, oldest first.
    #[schemars(extend("items" = {"type": "string", "format": "date-time"}))]
    pub uses: Vec<String>,
}

impl JsonSchema for Fault {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let anywhere = &["rcpt", "data"][..];
        let rcpt = &["rcpt"][..];
        let data = &["data"][..];
        json_schema!({
            "description": "What fails, and when: `rcpt` is at RCPT TO for this recipient, `data` after the message \
                            was received.",
            "oneOf": [
                variant("Defer", anywhere, &["defer"], Some(("reply", reply(4, "451 4.3.0 Deferred on request")))),
                variant("Reject", anywhere, &["reject"], Some(("reply", reply(5, "550 5.1.1 Rejected on request")))),
                variant("Disconnect at RCPT", rcpt, &["disconnect", "reset"], None),
                variant("Disconnect after the message", data, &["disconnect", "reset"], Some(("store", stored()))),
                delay(variant("Delay", anywhere, &["delay"], Some(("seconds", seconds())))),
                variant("Bounce, drop or duplicate", data, &["bounce", "drop", "duplicate"], None),
            ],
        })
    }
}

/// The fields of some actions, with the field that only they have.
fn variant(title: &str, at: &[&str], action: &[&str], own: Option<(&str, Schema)>) -> Schema {
    let mut schema = json_schema!({
        "type": "object",
        "title": title,
        "required": ["at", "do"],
        "additionalProperties": false,
        "properties": {
            "at": {
                "type": "string",
                "enum": at,
                "description": "The SMTP stage: this recipient's RCPT TO, or after the message has been received.",
            },
            "do": {"type": "string", "enum": action, "description": "The kind of fault."},
            "times": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_FAULT_TIMES,
                "default": 1,
                "description": "How often the fault applies.",
            },
        },
    });
    let properties = schema
        .get_mut("properties")
        .and_then(|properties| properties.as_object_mut());
    if let (Some(properties), Some((name, own))) = (properties, own) {
        properties.insert(name.to_owned(), own.to_value());
    }
    schema
}

fn delay(mut schema: Schema) -> Schema {
    if let Some(required) = schema
        .get_mut("required")
        .and_then(|required| required.as_array_mut())
    {
        required.push("seconds".into());
    }
    schema
}

fn reply(class: u8, default: &str) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": 510,
        "pattern": format!(r"^{class}[0-5][0-9] {class}\.[0-9]{{1,3}}\.[0-9]{{1,3}}( [\t -~]*)?$"),
        "default": default,
        "description": "The reply, one line with an enhanced status code.",
    })
}

fn stored() -> Schema {
    json_schema!({"type": "boolean", "default": false, "description": "Whether the message is stored first."})
}

fn seconds() -> Schema {
    json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_FAULT_SECONDS,
        "description": "How long the reply is delayed.",
    })
}

impl Example for SetFaultsBody {
    fn example() -> Self {
        let of = |at: &str, action: &str| Fault {
            at: Some(at.to_owned()),
            action: Some(action.to_owned()),
            ..Fault::default()
        };
        let deferred = Fault {
            times: Some(2),
            ..of("rcpt", "defer")
        };
        Self {
            faults: vec![
                deferred,
                Fault {
                    seconds: Some(5),
                    ..of("data", "delay")
                },
            ],
        }
    }
}

impl Example for FaultList {
    fn example() -> Self {
        let deferred = FaultState {
            at: FaultPoint::Rcpt,
            action: FaultAction::Defer,
            times: 2,
            reply: None,
            seconds: None,
            store: None,
            left: 1,
            used: 1,
            uses: vec![noon()],
        };
        let delayed = FaultState {
            at: FaultPoint::Data,
            action: FaultAction::Delay,
            times: 1,
            seconds: Some(5),
            used: 0,
            uses: Vec::new(),
            ..deferred.clone()
        };
        Self {
            faults: vec![deferred, delayed],
        }
    }
}
