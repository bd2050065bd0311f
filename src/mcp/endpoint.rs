//! The streamable HTTP transport without sessions: each request is complete, so any node can answer
//! it.
//!
//! The response of a call is one JSON document. A client that closes its request ends the call, and
//! its wait frees its slot. A `notifications/cancelled` of an older protocol does the same if it
//! reaches the node that runs the call.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use uuid::Uuid;

use super::protocol::Protocol;
use super::running::{CallId, Running};
use super::tools::{HeldRoom, Tools};
use crate::memory::{Budget, NoMemory, Room};
use crate::service::Caller;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Longer session ids were not issued by this server.
const SESSION_BYTES: usize = 64;

/// The endpoint. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    http: StreamableHttpService<Protocol<Tools>, NeverSessionManager>,
    running: Running,
    budget: Budget,
}

/// The fields of a message that are read before rmcp reads it.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    method: Option<String>,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "requestId")]
    request_id: Option<RequestId>,
}

impl Endpoint {
    /// Creates the endpoint for these tools, with bodies of at most this many bytes.
    #[must_use]
    pub fn new(tools: Tools, largest_body: usize) -> Self {
        let budget = tools.budget().clone();
        let protocol = Protocol::new(tools);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(largest_body)
            // The HTTP layer has checked the host and the origin against the base URL.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let http = StreamableHttpService::new(move || Ok(protocol.clone()), Arc::default(), config);
        Self {
            http,
            running: Running::default(),
            budget,
        }
    }

    /// Answers a request of a caller whose key is valid. `room` is the memory reservation of its
    /// body.
    ///
    /// # Errors
    /// [`NoMemory`] if there is no memory for the response.
    pub async fn handle(
        &self,
        caller: Caller,
        room: Room,
        mut request: Request<Bytes>,
    ) -> Result<Response<Body>, NoMemory> {
        let envelope: Option<Envelope> = serde_json::from_slice(request.body()).ok();
        let session = session(request.headers());
        let call = |request| {
            session.clone().map(|session| CallId {
                key: caller.key,
                session,
                request,
            })
        };
        let method = envelope
            .as_ref()
            .and_then(|envelope| envelope.method.as_deref());
        let is_initialize = method == Some("initialize");
        let cancelled = envelope
            .as_ref()
            .filter(|_| method == Some("notifications/cancelled"));
        if let Some(id) = cancelled
            .and_then(|envelope| envelope.params.request_id.clone())
            .and_then(call)
        {
            self.running.cancel(&id);
        }
        let id = envelope.and_then(|envelope| envelope.id).and_then(call);
        let held = HeldRoom::new(room);
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(held.clone());
        // rmcp has no use for the key, and may log the headers.
        request.headers_mut().remove(AUTHORIZATION);
        request.headers_mut().remove("x-api-key");
        let answering = self.http.handle(request.map(Full::new));
        let answer = match id.map(|id| self.running.start(id)) {
            Some(running) => running.run(answering).await,
            None => Some(answering.await),
        };
        // No client waits for the response of a cancelled call.
        let Some(answer) = answer else {
            return Ok(status_alone(StatusCode::ACCEPTED));
        };
        let mut answer = self.held(&caller, held.take(), answer).await?;
        if is_initialize && answer.status().is_success() {
            let session = HeaderValue::from_str(&Uuid::now_v7().to_string());
            answer
                .headers_mut()
                .extend(session.ok().map(|session| (SESSION, session)));
        }
        Ok(answer)
    }

    /// Adds the memory reservation of the request to the response, which keeps it until it is sent.
    async fn held<B>(
        &self,
        caller: &Caller,
        mut room: Room,
        answer: Response<B>,
    ) -> Result<Response<Body>, NoMemory>
    where
        B: BodyExt<Data = Bytes, Error = Infallible>,
    {
        let (parts, body) = answer.into_parts();
        let Ok(body) = body.collect().await;
        let body = body.to_bytes();
        if room.is_reserved() {
            room.shrink(body.len());
        } else {
            room = self.budget.reserve(caller.key.0, body.len()).await?;
        }
        Ok(Response::from_parts(parts, room.hold(body.into()).into()))
    }
}

fn session(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    (session.len() <= SESSION_BYTES).then(|| session.to_owned())
}

fn status_alone(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
