//! The handler that hyper calls for each request of a connection, made so that an answer outlives hyper's connection:
//! what hyper drops before it is done is left behind, and the next call goes on with it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::Router;
use axum::http::header::CONNECTION;
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{HeaderMap, Method, Request, Version};
use tower::ServiceExt;

use super::Peer;

const CLOSE: &str = "close";
const KEEP_ALIVE: &str = "keep-alive";

/// The requests of one connection. Clones share it.
#[derive(Clone)]
pub(super) struct Requests {
    router: Router,
    peer: Peer,
    left: Arc<Left>,
}

/// With this, in the extensions of a request, its handler says that the answer may be long in coming. Only then is the
/// connection parked: to take hyper apart and to make it anew costs more than to look something up.
#[derive(Clone)]
pub(in crate::http) struct Parking(Arc<Left>);

impl Parking {
    /// Lets the connection be parked from the next time on that the handler waits.
    pub(in crate::http) fn allow(&self) {
        self.0.is_allowed.store(true, Ordering::Relaxed);
    }
}

/// Where an answer is left that hyper has dropped.
#[derive(Default)]
struct Left {
    under_way: Mutex<Option<UnderWay>>,
    /// The handler of the present request lets it be left.
    is_allowed: AtomicBool,
    /// hyper holds one that may be left.
    is_waiting: AtomicBool,
}

/// A request that has not been answered.
pub(super) struct UnderWay {
    pub(super) head: Head,
    pub(super) answer: BoxFuture<'static, Response>,
}

/// What decides how an answer is written down.
pub(super) struct Head {
    method: Method,
    version: Version,
    connection: Option<&'static str>,
}

impl Requests {
    pub(super) fn new(router: Router, peer: Peer) -> Self {
        Self { router, peer, left: Arc::default() }
    }

    /// Whether a request that has been read in full waits for its answer.
    pub(super) fn is_waiting(&self) -> bool {
        self.left.is_waiting.load(Ordering::Relaxed)
    }

    /// Takes what hyper has dropped before it was answered.
    pub(super) fn take_left(&self) -> Option<UnderWay> {
        self.left.lock().take()
    }

    /// The next call goes on with this.
    pub(super) fn leave(&self, under_way: UnderWay) {
        *self.left.lock() = Some(under_way);
    }

    fn begin(&self, mut request: Request<Incoming>) -> UnderWay {
        self.left.is_allowed.store(false, Ordering::Relaxed);
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(Parking(Arc::clone(&self.left)));
        let head = Head::of(&request);
        let answered = self.router.clone().oneshot(request);
        let answer = Box::pin(async { answered.await.unwrap_or_else(|never| match never {}) });
        UnderWay { head, answer }
    }
}

impl Service<Request<Incoming>> for Requests {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let left = self.take_left();
        // Once is enough: what comes back without an answer does so because the client sends on.
        let may_be_left = left.is_none() && request.body().is_end_stream();
        let under_way = left.unwrap_or_else(|| self.begin(request));
        Answering { under_way: Some(under_way), left: Arc::clone(&self.left), may_be_left }
    }
}

impl Left {
    fn lock(&self) -> MutexGuard<'_, Option<UnderWay>> {
        // Nothing panics while the lock is held.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer as hyper holds it.
pub(super) struct Answering {
    under_way: Option<UnderWay>,
    left: Arc<Left>,
    may_be_left: bool,
}

impl Future for Answering {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(under_way) = &mut self.under_way else { return Poll::Pending };
        let answer = under_way.answer.as_mut().poll(task);
        let may_be_left = self.may_be_left && self.left.is_allowed.load(Ordering::Relaxed);
        self.left.is_waiting.store(answer.is_pending() && may_be_left, Ordering::Relaxed);
        answer.map(|answer| {
            self.under_way = None;
            Ok(answer)
        })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(under_way) = self.under_way.take() {
            self.left.is_waiting.store(false, Ordering::Relaxed);
            *self.left.lock() = Some(under_way);
        }
    }
}

impl Head {
    fn of(request: &Request<Incoming>) -> Self {
        Self {
            method: request.method().clone(),
            version: request.version(),
            connection: connection_option(request.headers()),
        }
    }

    /// A request that is answered in the same way, as octets; `last` if the connection is to end with its answer.
    pub(super) fn replay(&self, last: bool) -> Vec<u8> {
        let connection = if last { Some(CLOSE) } else { self.connection };
        let field = connection.map(|option| format!("connection: {option}\r\n")).unwrap_or_default();
        format!("{} / {:?}\r\n{field}\r\n", self.method, self.version).into_bytes()
    }
}

/// What the request says of the connection's future (RFC 9112, section 9.3).
fn connection_option(headers: &HeaderMap) -> Option<&'static str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let options: Vec<&str> = values.flat_map(|value| value.split(',').map(str::trim)).collect();
    [CLOSE, KEEP_ALIVE].into_iter().find(|known| options.iter().any(|option| option.eq_ignore_ascii_case(known)))
}
