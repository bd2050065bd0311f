//! A blocking HTTP client for tests. It can also be used on a thread of a runtime.

use std::error::Error as StdError;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub use axum::body::Bytes;
use axum::http::{Method, Request, Response, request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

/// Longer than any answer takes: the longest wait, and a frozen node.
const LONG: Duration = Duration::from_secs(180);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
});

/// A client that uses its connections again.
#[derive(Clone, Debug)]
pub struct Client(Connections<HttpConnector, Full<Bytes>>);

/// A request.
pub struct Call {
    connections: Connections<HttpConnector, Full<Bytes>>,
    request: request::Builder,
    within: Duration,
    any_status: bool,
}

pub type Answer = Response<String>;

/// Why there is no answer, or not the expected one.
#[derive(Debug)]
pub enum Error {
    /// An answer with this status, which is an error.
    Status(u16),
    Failed(Box<dyn StdError + Send + Sync>),
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl StdError for Error {}

pub fn get(url: impl AsRef<str>) -> Call {
    call("GET", url)
}

pub fn post(url: impl AsRef<str>) -> Call {
    call("POST", url)
}

pub fn put(url: impl AsRef<str>) -> Call {
    call("PUT", url)
}

pub fn delete(url: impl AsRef<str>) -> Call {
    call("DELETE", url)
}

/// A request on a connection of its own.
pub fn call(method: &str, url: impl AsRef<str>) -> Call {
    Client::new().call(method, url)
}

impl Client {
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Connections::builder(TokioExecutor::new()).build(connector))
    }

    pub fn call(&self, method: &str, url: impl AsRef<str>) -> Call {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        Call {
            connections: self.0.clone(),
            request: Request::builder().method(method).uri(url.as_ref()),
            within: LONG,
            any_status: false,
        }
    }
}

impl Call {
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    /// The whole answer arrives in this time, or there is none.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.within = limit;
        self
    }

    /// No status is an error.
    #[must_use]
    pub fn any_status(mut self) -> Self {
        self.any_status = true;
        self
    }

    /// Sends the request without a body.
    pub fn call(self) -> Result<Answer, Error> {
        self.send("")
    }

    pub fn send(self, body: impl Into<String>) -> Result<Answer, Error> {
        let body = Full::from(body.into());
        let any_status = self.any_status;
        let deadline = Instant::now() + self.within;
        let (done, answer) = channel();
        RUNTIME.spawn(async move {
            let asking = async {
                let answer = self.connections.request(self.request.body(body)?).await?;
                let (head, body) = answer.into_parts();
                let body = body.collect().await?.to_bytes();
                let body = String::from_utf8_lossy(&body).into_owned();
                Ok(Response::from_parts(head, body))
            };
            let asked = timeout_at(deadline, asking).await;
            let _ = done.send(asked.unwrap_or_else(|silent| Err(silent.into())));
        });
        let answer = answer.recv().unwrap().map_err(Error::Failed)?;
        match answer.status().as_u16() {
            status @ 400.. if !any_status => Err(Error::Status(status)),
            _ => Ok(answer),
        }
    }

    pub fn send_form(self, fields: &[(&str, &str)]) -> Result<Answer, Error> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let call = self.header("content-type", "application/x-www-form-urlencoded");
        call.send(form.finish())
    }

    /// The pieces of a stream as they arrive, until its end; `None` if its status is not 200.
    pub fn pieces(self) -> Option<Receiver<Bytes>> {
        let deadline = Instant::now() + self.within;
        let (opened, is_open) = channel();
        let (sender, pieces) = channel();
        RUNTIME.spawn(async move {
            let following = async {
                let request = self.request.body(Full::default()).ok()?;
                let answer = self.connections.request(request).await.ok()?;
                let mut body = (answer.status() == 200).then(|| answer.into_body())?;
                opened.send(()).ok()?;
                while let Some(Ok(frame)) = body.frame().await {
                    let piece = frame.into_data().unwrap_or_default();
                    sender.send(piece).ok()?;
                }
                Some(())
            };
            timeout_at(deadline, following).await
        });
        is_open.recv().ok().map(|()| pieces)
    }
}
