//! The streamable HTTP transport without sessions: each request is complete, so any node can answer
//! it.
//!
//! The response of a call is one JSON document. A client that closes its request ends the call, and
//! its wait frees its slot. A `notifications/cancelled` of an older protocol does the same if it
//! reaches the node that runs the call.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use uuid::Uuid;

use super::message::{self, Message, RequestId, RpcError};
use super::protocol::{self, REVISIONS, WITHOUT_HANDSHAKE, own_revision};
use super::running::{CallId, Running};
use super::setup::Addresses;
use super::tools::Tools;
use crate::service::Caller;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Longer session ids were not issued by this server.
const SESSION_BYTES: usize = 64;
const REVISION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";

/// The endpoint. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    tools: Tools,
    running: Running,
}

impl Endpoint {
    /// Creates the endpoint for these tools.
    #[must_use]
    pub fn new(tools: Tools) -> Self {
        Self {
            tools,
            running: Running::default(),
        }
    }

    /// Answers a message of a caller whose key is valid.
    pub async fn handle(
        &self,
        caller: Caller,
        addresses: Addresses,
        headers: &HeaderMap,
        message: Result<Message, RpcError>,
    ) -> Response<Body> {
        let message = match checked(headers, message) {
            Ok(message) => message,
            Err(refusal) => return refusal,
        };
        let client = session(headers).map(|session| (caller.key, session));
        let call = |request| {
            client.clone().map(|client| CallId {
                client: Some(client),
                request,
            })
        };
        if let Some(id) = message.cancelled().and_then(call) {
            self.running.cancel(&id);
        }
        let Some(id) = message.id.clone() else {
            return StatusCode::ACCEPTED.into_response();
        };
        let is_initialize = message.method == "initialize";
        let has_no_handshake = own_revision(&message).is_some();
        let tools = self.tools.of(caller, addresses);
        let answering = protocol::answer(message, &tools);
        let result = match call(id.clone()).map(|id| self.running.start(id)) {
            Some(running) => running.run(answering).await,
            None => Some(answering.await),
        };
        // No client waits for the response of a cancelled call.
        let Some(result) = result else {
            return StatusCode::ACCEPTED.into_response();
        };
        let mut answer = answered(status(has_no_handshake, &result), Some(&id), &result);
        if is_initialize {
            answer.headers_mut().insert(SESSION, new_session());
        }
        answer
    }
}

/// The message, if its headers fit to it.
#[expect(clippy::result_large_err, reason = "a refusal is a response")]
fn checked(
    headers: &HeaderMap,
    message: Result<Message, RpcError>,
) -> Result<Message, Response<Body>> {
    if !accepts_json(headers) {
        return Err(StatusCode::NOT_ACCEPTABLE.into_response());
    }
    if !has_type(headers) {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
    }
    let refusal = |id, error| answered(StatusCode::BAD_REQUEST, id, &Err(error));
    let message = message.map_err(|error| refusal(None, error))?;
    check_headers(headers, &message).map_err(|error| refusal(message.id.as_ref(), error))?;
    Ok(message)
}

/// Up to 2025-11-25 an error is a response like others; since then some have a status.
fn status(has_no_handshake: bool, result: &Result<Value, RpcError>) -> StatusCode {
    match result {
        Err(RpcError::Revision { .. } | RpcError::Meta(_)) => StatusCode::BAD_REQUEST,
        Err(RpcError::Method(_)) if has_no_handshake => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn new_session() -> HeaderValue {
    HeaderValue::from_str(&Uuid::now_v7().to_string())
        .expect("a UUID has the characters of a header")
}

fn session(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    (session.len() <= SESSION_BYTES).then(|| session.to_owned())
}

/// A client has to accept both forms, and may list them in several headers.
fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = |wanted: &str| {
        let values = headers.get_all(ACCEPT).iter();
        let mut types = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        types.any(|accepted| is_type(accepted, wanted))
    };
    accepted(JSON) && accepted("text/event-stream")
}

fn has_type(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| is_type(value, JSON))
}

/// Whether a media type is this one, with any parameters.
fn is_type(value: &str, wanted: &str) -> bool {
    let essence = value.split(';').next();
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(wanted))
}

/// The headers with which something on the way can route a request without reading its body must
/// say what the body says.
fn check_headers(headers: &HeaderMap, message: &Message) -> Result<(), RpcError> {
    let of_headers = one(headers, REVISION)?;
    let own = own_revision(message).filter(|_| message.method != "initialize");
    match (of_headers, own) {
        (None, None) => return Ok(()),
        (None, Some(_)) => {
            let problem = "a protocolVersion in _meta needs the header MCP-Protocol-Version";
            return Err(RpcError::Headers(problem.to_owned()));
        }
        (Some(revision), Some(own)) if revision != own => return Err(mismatch(REVISION, own)),
        (Some(revision), None) if !REVISIONS.contains(&revision) => {
            return Err(RpcError::Revision {
                requested: revision.to_owned(),
                supported: &REVISIONS,
            });
        }
        (Some(revision), _) if revision < WITHOUT_HANDSHAKE => return Ok(()),
        (Some(_), None) if message.id.is_some() && message.method != "initialize" => {
            return Err(RpcError::Meta("protocolVersion".to_owned()));
        }
        (Some(_), _) => {}
    }
    if message.method == "initialize" {
        return Ok(());
    }
    agrees(headers, "mcp-method", &message.method)?;
    if message.method == "tools/call" {
        agrees(headers, "mcp-name", message.tool())?;
    }
    Ok(())
}

/// The value of a header that may be there once.
fn one<'headers>(
    headers: &'headers HeaderMap,
    name: &str,
) -> Result<Option<&'headers str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(HeaderValue::to_str);
    match (value, values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => Err(RpcError::Headers(format!(
            "the header {name} is there twice, or is no ASCII"
        ))),
    }
}

fn agrees(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), RpcError> {
    let value = one(headers, name)?;
    // Other characters than those of a header are in base64.
    let encoded = value.and_then(|value| value.strip_prefix("=?base64?")?.strip_suffix("?="));
    let is_same = match encoded {
        Some(encoded) => BASE64_STANDARD
            .decode(encoded)
            .is_ok_and(|decoded| decoded == expected.as_bytes()),
        None => value == Some(expected),
    };
    match is_same {
        true => Ok(()),
        false => Err(mismatch(name, expected)),
    }
}

fn mismatch(name: &str, expected: &str) -> RpcError {
    RpcError::Headers(format!(
        "the header {name} has to be {expected}, as in the body"
    ))
}

fn answered(
    status: StatusCode,
    id: Option<&RequestId>,
    result: &Result<Value, RpcError>,
) -> Response<Body> {
    let json = [(CONTENT_TYPE, JSON)];
    (status, json, message::response(id, result)).into_response()
}
