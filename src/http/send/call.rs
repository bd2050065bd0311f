//! One request to an API for sending: who sends it, what it contains, and the answer.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;

use super::delivery::Sent;
use super::failure::{Failure, Kind};
use super::outgoing::{Addresses, Outgoing};
use super::{Senders, answer as respond};
use crate::config::SmtpAuth;
use crate::http::body::read;
use crate::http::client::client;
use crate::http::credential::{Admitted, Credential};
use crate::http::error::Error;
use crate::http::host::own_host;
use crate::http::response::JSON;
use crate::http::server::Disconnect;
use crate::jobs::{Holder, Job};
use crate::large::SMALL;
use crate::model::{Closing, Refusal, Via};
use crate::service::{Caller, Door, Repeatable, Repetition};

/// Maximum number of bytes of an idempotency key.
const MAX_KEY: usize = 256;
/// How many messages of the maximum size a request may store.
const STORED: u64 = 4;

pub(super) struct Provider {
    pub(super) via: Via,
    /// Maximum number of recipients of a message, as the provider documents it.
    pub(super) recipients: usize,
    /// The provider's answer to a request that fails.
    pub(super) refuse: fn(&Failure) -> Response,
}

/// A request that was read.
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The bytes that its messages may have together.
    pub(super) most: usize,
    pub(super) addresses: Addresses,
}

/// A request that is being answered.
pub(super) struct Call<'a> {
    pub(super) provider: &'a Provider,
    pub(super) senders: &'a Senders,
    pub(super) client: IpAddr,
    pub(super) door: Door,
    /// The caller, if the credential is a key of this service.
    pub(super) caller: Option<Caller>,
    /// How long faults delay the answer.
    pub(super) delay: Duration,
    /// How a fault ends the connection instead of the answer, after the message was stored.
    pub(super) closing: Option<Closing>,
    /// The bytes that its messages may still have.
    pub(super) left: u64,
    /// The request, if it may be repeated.
    repeatable: Option<Repeatable>,
    /// Whether a part of the body may still arrive: it would be read as the next request.
    is_unread: bool,
}

impl Provider {
    /// Sends all messages of a request, or answers with the first failure.
    ///
    /// # Errors
    /// If the request comes from another site.
    pub(super) async fn send(
        &self,
        senders: &Senders,
        request: Request,
        parse: impl FnOnce(&Received) -> Result<Vec<Outgoing>, Failure> + Send + 'static,
        answer: impl FnOnce(&[Sent]) -> Response,
    ) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let mut call = Call::new(self, senders, &parts)?;
        let answered = async {
            let (messages, job) = call.read(parts, body, parse).await?;
            if let Some(earlier) = call.begin().await? {
                return Ok(earlier);
            }
            let sent = call.send_all(messages, &job).await;
            call.end(sent.map(|sent| answer(&sent))).await
        };
        let answered = answered.await;
        Ok(call.answer(answered).await)
    }

    /// Sends each message of a request that can be sent.
    ///
    /// # Errors
    /// If the request comes from another site.
    pub(super) async fn send_each(
        &self,
        senders: &Senders,
        request: Request,
        parse: impl FnOnce(&Received) -> Result<Vec<Result<Outgoing, Failure>>, Failure>
        + Send
        + 'static,
        answer: impl FnOnce(&[Result<Sent, Failure>]) -> Response,
    ) -> Result<Response, Error> {
        let (parts, body) = request.into_parts();
        let mut call = Call::new(self, senders, &parts)?;
        let answered = async {
            let (messages, job) = call.read(parts, body, parse).await?;
            if let Some(earlier) = call.begin().await? {
                return Ok(earlier);
            }
            let mut outcomes = Vec::with_capacity(messages.len());
            for message in messages {
                let outcome = match message {
                    Ok(message) => call
                        .send_all(vec![message], &job)
                        .await
                        .map(|mut sent| sent.swap_remove(0)),
                    Err(failure) => Err(call.recorded(failure, "", &[])),
                };
                match outcome {
                    Err(failure) if matches!(failure.kind, Kind::Disconnect(_)) => {
                        return call.end(Err(failure)).await;
                    }
                    outcome => outcomes.push(outcome),
                }
            }
            call.end(Ok(answer(&outcomes))).await
        };
        let answered = answered.await;
        Ok(call.answer(answered).await)
    }

    /// Answers a request that sends nothing.
    ///
    /// # Errors
    /// If the request comes from another site.
    pub(super) async fn look_up(
        &self,
        senders: &Senders,
        parts: &Parts,
        find: impl AsyncFnOnce(Option<&Caller>) -> Result<Response, Error>,
    ) -> Result<Response, Error> {
        let mut call = Call::new(self, senders, parts)?;
        if let Err(failure) = call.authenticate(parts).await {
            return Ok(call.answer(Err(failure)).await);
        }
        match find(call.caller.as_ref()).await {
            Err(Error::MessageNotFound) => Ok(call
                .answer(Err(Failure::new(Kind::NotFound, "message not found")))
                .await),
            found => found,
        }
    }

    /// The answer to a path or a method that the API does not have.
    pub(super) fn unknown(&self) -> Response {
        (self.refuse)(&Failure::new(
            Kind::NotFound,
            "not found: this server only sends",
        ))
    }
}

fn unavailable(error: impl Display) -> Failure {
    tracing::error!(%error, "a request that may be repeated cannot be recorded");
    Failure::refused(Refusal::StoreFailure)
}

impl<'a> Call<'a> {
    fn new(provider: &'a Provider, senders: &'a Senders, parts: &Parts) -> Result<Self, Error> {
        let app = &senders.app;
        own_host(&parts.method, &parts.headers, app.base_url.as_str())?;
        app.service.send_api_used(provider.via);
        let client = client(parts, &app.trusted_proxies);
        Ok(Self {
            provider,
            senders,
            door: Door::new(
                app.service.clone(),
                Arc::clone(&senders.disk),
                SocketAddr::new(client, 0),
                provider.via,
            ),
            client,
            caller: None,
            delay: Duration::ZERO,
            closing: None,
            left: app.limits.message_size.saturating_mul(STORED),
            repeatable: None,
            is_unread: false,
        })
    }

    /// Checks the credential and the disk, then reads the body and parses it. The place is for all
    /// that is made of it.
    async fn read<T: Send + 'static>(
        &mut self,
        parts: Parts,
        body: axum::body::Body,
        parse: impl FnOnce(&Received) -> Result<T, Failure> + Send + 'static,
    ) -> Result<(T, Arc<Job>), Failure> {
        let read = self.read_checked(parts, body, parse).await;
        read.map_err(|failure| self.recorded(failure, "", &[]))
    }

    async fn read_checked<T: Send + 'static>(
        &mut self,
        parts: Parts,
        body: axum::body::Body,
        parse: impl FnOnce(&Received) -> Result<T, Failure> + Send + 'static,
    ) -> Result<(T, Arc<Job>), Failure> {
        self.is_unread = true;
        self.authenticate(&parts).await?;
        self.door.project = self.caller.map(|caller| caller.project);
        let key = self.idempotency_key(&parts)?;
        self.door.sender().await.map_err(Failure::refused)?;
        let app = &self.senders.app;
        // The same message takes more bytes as base64 or in a form than in the size that is
        // limited.
        let limit = usize::try_from(app.limits.message_size / 2 * 3)
            .unwrap_or(usize::MAX)
            .max(SMALL);
        let holder = self.caller.map_or(Holder::default(), |caller| caller.key.0);
        let mut job = app.service.jobs().job(holder);
        let body = read(body, limit, &mut job).await?;
        self.is_unread = false;
        let received = Received {
            headers: parts.headers,
            body,
            most: usize::try_from(self.left).unwrap_or(usize::MAX),
            addresses: Addresses::up_to(app.limits.recipients),
        };
        let reading = job.run(move || {
            let repeatable = key.map(|key| Repeatable::new(key, &received.body));
            (repeatable, parse(&received))
        });
        let ((repeatable, parsed), job) = reading.await.map_err(|error| {
            tracing::error!(%error, "parsing a request failed");
            Failure::refused(Refusal::StoreFailure)
        })?;
        self.repeatable = repeatable;
        Ok((parsed?, Arc::new(job)))
    }

    /// The key with which the client may repeat the request; only Resend documents one.
    fn idempotency_key(&self, parts: &Parts) -> Result<Option<Vec<u8>>, Failure> {
        let key = parts.headers.get("idempotency-key");
        let key = key.filter(|_| self.provider.via == Via::Resend);
        if key.is_some_and(|key| !(1..=MAX_KEY).contains(&key.len())) {
            return Err(Failure {
                kind: Kind::Repeated(400, "invalid_idempotency_key"),
                ..Failure::invalid(format!("The key must be between 1-{MAX_KEY} chars."))
            });
        }
        Ok(key.map(|key| key.as_bytes().to_vec()))
    }

    /// Begins a request that may be repeated. Returns the answer if it was repeated.
    async fn begin(&mut self) -> Result<Option<Response>, Failure> {
        let Some(request) = &self.repeatable else {
            return Ok(None);
        };
        let service = &self.senders.app.service;
        let started = service.begin_request(self.door.project, request);
        let (name, text) = match started.await.map_err(unavailable)? {
            Repetition::New => return Ok(None),
            Repetition::Answered(body) => return Ok(Some(respond(200, JSON, body))),
            Repetition::Running => (
                "concurrent_idempotent_requests",
                "Same idempotency key used while original request is still in progress.",
            ),
            Repetition::Other => (
                "invalid_idempotent_request",
                "Same idempotency key used with a different request payload.",
            ),
        };
        // No mail is missing for it, so it is not recorded.
        Err(Failure::new(Kind::Repeated(409, name), text))
    }

    /// Keeps the answer for a client that repeats the request. A request that has failed can be
    /// sent again.
    async fn end(&self, outcome: Result<Response, Failure>) -> Result<Response, Failure> {
        let Some(request) = &self.repeatable else {
            return outcome;
        };
        let (kept, outcome) = match outcome {
            Ok(response) => {
                let body = to_bytes(response.into_body(), usize::MAX).await;
                let body = body.map_err(unavailable)?;
                let body = String::from_utf8_lossy(&body).into_owned();
                (Some(body.clone()), Ok(respond(200, JSON, body)))
            }
            failed => (None, failed),
        };
        let service = &self.senders.app.service;
        let ended = service.end_request(self.door.project, request, kept);
        if let Err(error) = ended.await {
            tracing::error!(%error, "the answer of a request that may be repeated is not kept");
        }
        outcome
    }

    /// A credential that looks like a key must be one. With `--smtp-auth keys`, every credential
    /// must.
    async fn authenticate(&mut self, parts: &Parts) -> Result<(), Failure> {
        let app = &self.senders.app;
        if let Some(Admitted { caller, has_key }) = parts.extensions.get() {
            self.caller = has_key.then_some(*caller);
            let is_enough = match app.smtp_auth {
                SmtpAuth::Any => true,
                SmtpAuth::Keys => {
                    *has_key || matches!(Credential::of(&parts.headers), Credential::Missing)
                }
                SmtpAuth::Required => *has_key,
            };
            return if is_enough {
                Ok(())
            } else {
                Err(Failure::refused(Refusal::AuthenticationFailed))
            };
        }
        match Credential::of(&parts.headers) {
            Credential::Missing => {
                let text = "no credential: send any, or an API key of this server";
                Err(Failure::new(Kind::NoCredential, text))
            }
            Credential::Any if app.smtp_auth == SmtpAuth::Any => Ok(()),
            Credential::Any => Err(Failure::refused(Refusal::AuthenticationFailed)),
            Credential::Key(key) => {
                let found = app.service.authenticate(&key).await.map_err(|error| {
                    tracing::error!(%error, "cannot check a key");
                    Failure::refused(Refusal::AuthenticationUnavailable)
                })?;
                self.caller =
                    Some(found.ok_or_else(|| Failure::refused(Refusal::AuthenticationFailed))?);
                Ok(())
            }
        }
    }

    /// The response, after the delay of the faults.
    async fn answer(&self, outcome: Result<Response, Failure>) -> Response {
        if !self.delay.is_zero() {
            self.senders.app.service.clock().sleep(self.delay).await;
        }
        let mut closing = self.closing;
        let mut response = outcome.unwrap_or_else(|failure| {
            let mut response = (self.provider.refuse)(&failure);
            if self.is_unread {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            if let Kind::Disconnect(unstored) = failure.kind {
                closing = Some(unstored);
            }
            response
        });
        if let Some(closing) = closing {
            response.extensions_mut().insert(Disconnect(closing));
        }
        response
    }
}
