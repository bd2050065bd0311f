//! The parameters in queries. They arrive as text, and an empty one counts as absent.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Finds an inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct FindInboxQuery {
    /// The full recipient address.
    #[schemars(length(min = 1), extend("example" = "k3v9w0qdm4xt2p7h@restante.example.com"))]
    pub address: String,
}

/// What is checked of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckQuery {
    /// Whether SPF, DKIM and DMARC are checked too, with queries to the DNS. Empty counts as
    /// absent.
    #[schemars(with = "bool", extend("default" = false))]
    pub dns: String,
}

/// The filters of lists, waits and explanations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MessageQuery {
    /// Only messages whose subject contains this text, compared without case. Empty counts as
    /// absent.
    pub subject: String,
    /// Extension. Only messages whose `from` contains this text, without regard to case.
    #[schemars(extend("x-extension" = true))]
    pub from: String,
    /// Extension. Only messages whose To or Cc field contains this text, without regard to case.
    #[schemars(extend("x-extension" = true))]
    pub to: String,
    /// Extension. Only messages whose text contains this text, without regard to case. The first
    /// 256 KiB are compared.
    #[schemars(extend("x-extension" = true))]
    pub text: String,
    /// Extension. `Name:substring`: only messages with a header field of this name whose value
    /// contains the substring, without regard to case.
    #[schemars(extend("x-extension" = true, "pattern" = "^([!-9;-~]+:.*)?$", "example" = "X-Campaign:welcome"))]
    pub header: String,
    /// Extension. Only messages that have a labelled code in any form (`code`), a one-time code as
    /// in the field `otp` (`otp`), a link (`link`), or several of these, separated by commas
    /// (`code,link`). Empty: all messages.
    #[schemars(extend("x-extension" = true, "pattern" = "^((otp|code|link)(,(otp|code|link))*)?$"))]
    pub has: String,
    /// The id of a message in this inbox: only messages that arrived after it. Empty counts as
    /// absent.
    #[schemars(extend("anyOf" = [{"format": "uuid"}, {"maxLength": 0}]))]
    pub after: String,
}

/// The filters and the limits of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListMessagesQuery {
    /// Which messages match.
    #[serde(flatten)]
    pub matching: MessageQuery,
    /// An extension. Maximum number of messages.
    #[schemars(with = "u64", range(min = 1))]
    pub limit: String,
    /// An extension. The id of a message in this inbox: only messages that arrived before it. Empty
    /// counts as absent.
    #[schemars(extend("anyOf" = [{"format": "uuid"}, {"maxLength": 0}]))]
    pub before: String,
}

/// The filters and the duration of a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WaitQuery {
    /// Which messages match.
    #[serde(flatten)]
    pub matching: MessageQuery,
    /// Milliseconds, 0 to 120000. Values above 120000 are treated as 120000. 0 checks once and
    /// returns. Invalid values are replaced by the default.
    #[schemars(schema_with = "timeout", extend("default" = 15_000, "example" = 0))]
    pub timeout: String,
}

/// Where a timeline continues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EventsQuery {
    /// The value of `next` in an earlier answer: only events that no earlier answer had. Empty
    /// counts as absent.
    #[schemars(extend("pattern" = "^([0-9]+\\.[A-Za-z0-9_-]*)?$"))]
    pub after: String,
}

fn timeout(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})
}
