//! HTTP to one server, over connections that are used again.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderValue, Method, Request, Response, Uri, request};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::rustls;
use tower::util::{BoxCloneSyncService, ServiceExt};

use crate::model::ApiKey;

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

type BoxedError = Box<dyn Error + Send + Sync>;
type Connector = BoxCloneSyncService<Uri, TokioIo<TcpStream>, BoxedError>;

/// A server, and the key for it.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    url: String,
    authorization: Option<HeaderValue>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("it does not answer in HTTP")]
    NotHttp,
    #[error("it does not answer with TLS")]
    NotTls,
    #[error(transparent)]
    Lost(#[from] io::Error),
}

impl Transport {
    /// For the server at `url`, without a slash at its end.
    pub(super) fn new(url: &str, key: Option<&ApiKey>) -> Self {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
            .expect("ring has the default versions of TLS")
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector(url));
        let authorization = key.map(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))
                .expect("a key has only letters, digits and `_`");
            value.set_sensitive(true);
            value
        });
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url: url.to_owned(),
            authorization,
        }
    }

    /// The address of the server, without a slash at its end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// A request with the key. The path may have a query.
    pub(super) fn request(&self, method: Method, path: &str) -> request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        match &self.authorization {
            Some(key) => request.header(AUTHORIZATION, key),
            None => request,
        }
    }

    /// The head of the answer, from which its body can be read.
    pub(super) async fn send(
        &self,
        request: request::Builder,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let request = request
            .body(Full::new(body.into()))
            .map_err(io::Error::other)?;
        let answer = self.client.request(request).await;
        answer.map_err(|error| no_answer(&error))
    }
}

/// Connects to the server at `url`: through the proxy that the environment names for it
/// (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), unless it is on this machine.
fn connector(url: &str) -> Connector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT_WITHIN));
    let proxy = url.parse().ok().filter(|url| !is_here(url));
    match proxy.and_then(|url| Matcher::from_env().intercept(&url)) {
        None => BoxCloneSyncService::new(http.map_err(BoxedError::from)),
        Some(proxy) => {
            let tunnel = Tunnel::new(proxy.uri().clone(), http);
            let tunnel = match proxy.basic_auth() {
                Some(user) => tunnel.with_auth(user.clone()),
                None => tunnel,
            };
            let tunnel = tunnel.map_request(with_port);
            BoxCloneSyncService::new(tunnel.map_err(BoxedError::from))
        }
    }
}

fn is_here(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = |address: IpAddr| address.is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

/// The library asks a proxy for port 443 if a URL has none.
fn with_port(url: Uri) -> Uri {
    match (url.scheme_str(), url.host(), url.port()) {
        (Some("http"), Some(host), None) => {
            let url = Uri::builder().scheme("http").path_and_query("/");
            let url = url.authority(format!("{host}:80")).build();
            url.expect("it was a URL without a port")
        }
        _ => url,
    }
}

/// What the error of the library means: one of its causes says it.
pub(super) fn no_answer(error: &(dyn Error + 'static)) -> NoAnswer {
    if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
        return NoAnswer::NotTls;
    }
    if error.downcast_ref().is_some_and(is_not_http) {
        return NoAnswer::NotHttp;
    }
    // The source of such an error is not what it wraps, but the source of that.
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    match (wrapped, error.source()) {
        (Some(wrapped), _) => no_answer(wrapped),
        (None, Some(cause)) => no_answer(cause),
        (None, None) => NoAnswer::Lost(io::Error::other(error.to_string())),
    }
}

/// Whether the server sent something else. There is no name for one that speaks first, as over
/// SMTP, so every other reason is excluded.
fn is_not_http(error: &hyper::Error) -> bool {
    let is_lost = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    error.is_parse() || (error.source().is_none() && !is_lost)
}
