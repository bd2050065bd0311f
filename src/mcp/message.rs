//! The messages of JSON-RPC 2.0, as MCP uses them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::json;

/// Many values take many times the size of their text.
const MAX_VALUES: usize = 10_000;

pub type JsonObject = Map<String, Value>;

/// What a client chose to recognize the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

/// A message of a client: a request, or a notification, which has no id.
#[derive(Clone, Debug, Deserialize)]
pub struct Message {
    pub(super) id: Option<RequestId>,
    pub(super) method: String,
    #[serde(default, deserialize_with = "object_or_null")]
    pub(super) params: JsonObject,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RpcError {
    #[error("the message is no JSON: {0}")]
    Parse(String),
    #[error("the message is no request and no notification: {0}")]
    Request(String),
    #[error("the message has more than {MAX_VALUES} values")]
    TooManyValues,
    #[error("there is no method {0}")]
    Method(String),
    #[error("{0}")]
    Params(String),
    #[error("the fields of _meta are missing or malformed: {0}")]
    Meta(String),
    #[error("{0}")]
    Headers(String),
    #[error("Unsupported protocol version")]
    Revision {
        requested: String,
        supported: &'static [&'static str],
    },
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// [`RpcError::Parse`], [`RpcError::Request`] or [`RpcError::TooManyValues`].
    pub fn read(text: &[u8]) -> Result<Self, RpcError> {
        let counted = json::count(text);
        // There are at least as many as values.
        if counted.brackets + counted.commas > MAX_VALUES {
            return Err(RpcError::TooManyValues);
        }
        serde_json::from_slice(text).map_err(|error| match error.is_data() {
            true => RpcError::Request(error.to_string()),
            false => RpcError::Parse(error.to_string()),
        })
    }

    /// The tool of a call; empty for other requests.
    #[must_use]
    pub fn tool(&self) -> &str {
        match &*self.method {
            "tools/call" => text(&self.params, "name"),
            _ => "",
        }
    }

    /// The request that a notification cancels.
    pub(super) fn cancelled(&self) -> Option<RequestId> {
        let id = self.params.get("requestId")?;
        (self.method == "notifications/cancelled")
            .then(|| RequestId::deserialize(id).ok())
            .flatten()
    }
}

impl RpcError {
    /// The code of JSON-RPC, or of MCP.
    pub(super) fn code(&self) -> i32 {
        match self {
            Self::Parse(_) => -32700,
            Self::Request(_) | Self::TooManyValues => -32600,
            Self::Method(_) => -32601,
            Self::Params(_) | Self::Meta(_) => -32602,
            Self::Headers(_) => -32020,
            Self::Revision { .. } => -32022,
        }
    }
}

/// The answer of a request.
pub(super) fn response(id: Option<&RequestId>, result: &Result<Value, RpcError>) -> String {
    let mut response = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let error_object = json!({"code": error.code(), "message": error.to_string()});
            json!({"jsonrpc": "2.0", "id": id, "error": error_object})
        }
    };
    if let Err(RpcError::Revision {
        requested,
        supported,
    }) = result
    {
        response["error"]["data"] = json!({"requested": requested, "supported": supported});
    }
    response.to_string()
}

/// Some clients write null in place of no parameters.
fn object_or_null<'json, D: Deserializer<'json>>(json: D) -> Result<JsonObject, D::Error> {
    Option::deserialize(json).map(Option::unwrap_or_default)
}

/// A field that is a text; empty if it is missing or something else.
pub(super) fn text<'object>(object: &'object JsonObject, name: &str) -> &'object str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}
