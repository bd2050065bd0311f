//! One connection: hyper with limits on the head of a request, and on how long a client may neither
//! send nor read. A client that is still sending a body that nobody reads gets its response too.

use std::convert::Infallible;
use std::error::Error as _;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::http::Version;
use axum::http::header::{CONNECTION, EXPECT, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use axum::response::IntoResponse;
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::super::error::Error;
use super::framing::Framing;
use super::websocket::{self, Events};
use super::{Disconnect, Peer};
use crate::admission::Admitted;
use crate::model::Closing;

/// How long the head of a connection's first request may take to arrive.
const FIRST_HEAD: Duration = Duration::from_secs(10);
/// How long a connection may be idle between requests, including the head of the next one.
const IDLE: Duration = Duration::from_secs(75);
/// How long it may be idle, and up to twice as long, while connections are crowded.
const CROWDED_IDLE: Duration = Duration::from_secs(1);
/// How long a client may read nothing of its response.
const STALLED: Duration = Duration::from_secs(30);
const HEADERS: usize = 100;
/// The request line and the headers together.
const HEADER_BYTES: usize = 32 * 1024;
/// After a response to a request whose body was not read, for how long and how much more of it is
/// discarded.
const DISCARDING: Duration = Duration::from_secs(5);
const DISCARDED_BYTES: u64 = 32 * 1024 * 1024;
/// How many bytes are buffered for reading and writing.
const BUFFER_BYTES: usize = 64 * 1024;

/// Serves a client until it disconnects, until it is idle for too long, or until `stop` is
/// cancelled and the running response has ended.
pub(super) async fn serve(
    stream: impl Stream,
    peer: Peer,
    admitted: Admitted,
    router: Router,
    stop: CancellationToken,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    let mut stream = pin!(stream);
    let is_unread = Arc::new(AtomicBool::new(false));
    let opened = OnceLock::new();
    let served = serve_requests(
        stream.as_mut(),
        peer,
        &admitted,
        router,
        stop,
        (&is_unread, &opened),
    );
    let closing = served.await;
    if let Some(events) = opened.into_inner().and_then(Events::take) {
        return websocket::send(stream, events).await;
    }
    match closing {
        Closing::Reset => stream.as_ref().get_ref().get_ref().reset(),
        Closing::Close if is_unread.load(Ordering::Relaxed) => discard(stream).await,
        Closing::Close => {}
    }
}

/// Ends the responses, and reads on. If the connection were closed with unread bytes, the system
/// would send a reset, and a client that fails to send does not read its response.
async fn discard(mut stream: Pin<&mut (impl AsyncRead + AsyncWrite)>) {
    let reading = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(DISCARDED_BYTES), &mut tokio::io::sink()).await
    };
    let _ = timeout(DISCARDING, reading).await;
}

/// Returns how the connection has to end.
async fn serve_requests(
    stream: Pin<&mut TimeoutStream<impl Stream>>,
    peer: Peer,
    admitted: &Admitted,
    router: Router,
    stop: CancellationToken,
    (is_unread, opened): (&Arc<AtomicBool>, &OnceLock<Events>),
) -> Closing {
    let requests = Arc::<Requests>::default();
    let mut framing = Framing::default();
    let is_malformed = AtomicBool::new(false);
    let stream = InspectReader::new(stream, |bytes: &[u8]| {
        is_malformed.store(framing.follow(bytes), Ordering::Relaxed);
    });
    let answer = service_fn(|request: Request<Incoming>| {
        let checked = check_head(&request, is_malformed.load(Ordering::Relaxed));
        let request = request.map(|body| RequestBody::new(body, is_unread.clone()));
        let answering = answer(&router, peer, requests.start(), &stop, checked, request);
        async move {
            let response = answering.await?;
            if let Some(events) = response.extensions().get::<Events>() {
                // No request follows it.
                let _ = opened.set(events.clone());
            }
            Ok::<_, Disconnect>(response)
        }
    });
    let mut connection = pin!(
        Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_headers(HEADERS)
            .max_header_size(HEADER_BYTES)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), answer)
    );
    tokio::select! {
        // Polled first, so that a request that has arrived gets its response before the connection
        // is closed.
        biased;
        ended = connection.as_mut() => return closing(ended),
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        () = requests.idle_for_too_long(admitted) => {
            if requests.started.load(Ordering::Relaxed) == 0 {
                return Closing::Close;
            }
            // The last response may still be on its way.
            connection.as_mut().graceful_shutdown();
        }
    }
    closing(connection.await)
}

/// How many requests of a connection have arrived, and how many were answered.
#[derive(Default)]
struct Requests {
    started: AtomicU64,
    answered: AtomicU64,
}

/// A request; dropping this ends it.
struct Running(Arc<Requests>);

impl Requests {
    fn start(self: &Arc<Self>) -> Running {
        self.started.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(self))
    }

    /// Returns when the first request does not arrive, and while connections are crowded, when
    /// there was no request for a while.
    async fn idle_for_too_long(&self, admitted: &Admitted) {
        let opened = Instant::now();
        loop {
            let before = self.started.load(Ordering::Relaxed);
            sleep(CROWDED_IDLE).await;
            let is_idle = self.started.load(Ordering::Relaxed) == before
                && self.answered.load(Ordering::Relaxed) == before;
            let is_silent = before == 0 && opened.elapsed() >= FIRST_HEAD;
            if is_idle && (is_silent || admitted.is_crowded()) {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection that can be reset.
pub(super) trait Stream: AsyncRead + AsyncWrite {
    /// Lets the system send a reset when the stream is dropped.
    fn reset(&self);
}

impl Stream for TcpStream {
    fn reset(&self) {
        if let Err(error) = self.set_zero_linger() {
            tracing::debug!(%error, "an HTTP connection cannot be reset");
        }
    }
}

/// The body of a request, which tells whether it was read to its end.
struct RequestBody {
    body: Incoming,
    is_unread: Arc<AtomicBool>,
}

impl RequestBody {
    fn new(body: Incoming, is_unread: Arc<AtomicBool>) -> Self {
        is_unread.store(!body.is_end_stream(), Ordering::Relaxed);
        Self { body, is_unread }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.body).poll_frame(task);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.is_unread.store(false, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. The request is running until all of it was passed to hyper.
struct RunningBody {
    body: axum::body::Body,
    _running: Running,
}

impl Body for RunningBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(task)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response during a stop says that it is the last one on its connection. The error closes the
/// connection.
fn answer(
    router: &Router,
    peer: Peer,
    running: Running,
    stop: &CancellationToken,
    checked: Result<(), Error>,
    mut request: Request<RequestBody>,
) -> impl Future<Output = Result<hyper::Response<RunningBody>, Disconnect>> + use<> {
    request.extensions_mut().insert(peer);
    let is_last = checked.is_err();
    let answering = checked.map(|()| router.clone().oneshot(request));
    let stop = stop.clone();
    async move {
        let mut response = match answering {
            Ok(answering) => answering
                .await
                .unwrap_or_else(|never: Infallible| match never {}),
            Err(error) => error.into_response(),
        };
        if let Some(&disconnect) = response.extensions().get::<Disconnect>() {
            return Err(disconnect);
        }
        if is_last || stop.is_cancelled() {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| RunningBody {
            body,
            _running: running,
        }))
    }
}

/// Rejects a head that a proxy in front could read in another way than this server.
fn check_head<T>(request: &Request<T>, is_malformed: bool) -> Result<(), Error> {
    if is_malformed {
        return Err(Error::LineEnd);
    }
    // HTTP/1.1 requires one Host header, and no version allows two (RFC 9112, section 3.2).
    let hosts = request.headers().get_all(HOST).iter().count();
    if hosts > 1 || hosts == 0 && request.version() >= Version::HTTP_11 {
        return Err(Error::HostHeader);
    }
    let has_only = |name: HeaderName, known: &str| {
        let mut values = request.headers().get_all(name).iter();
        values.all(|value| value.as_bytes().eq_ignore_ascii_case(known.as_bytes()))
    };
    if !has_only(TRANSFER_ENCODING, "chunked") {
        return Err(Error::TransferEncoding);
    }
    if !has_only(EXPECT, "100-continue") {
        return Err(Error::Expectation);
    }
    Ok(())
}

/// Logs how a connection has ended, and returns how it is closed.
fn closing(ended: hyper::Result<()>) -> Closing {
    let Err(error) = ended else {
        return Closing::Close;
    };
    tracing::debug!(%error, "an HTTP connection ended early");
    let fault = error
        .source()
        .and_then(|source| source.downcast_ref::<Disconnect>());
    fault.map_or(Closing::Close, |Disconnect(closing)| *closing)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::admission::Admission;

    impl Stream for DuplexStream {
        fn reset(&self) {}
    }

    const PEER: Peer = Peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// The only connection of `most` that are allowed.
    fn admitted(most: usize) -> Admitted {
        Admission::new(most, most, Vec::new())
            .admit(PEER.0)
            .unwrap()
    }

    /// A client of a server whose responses have the body `body`.
    fn connect(body: &'static str) -> (DuplexStream, JoinHandle<()>) {
        let (client, stream) = duplex(1_000);
        let router = Router::new().route("/", get(move || async move { body }));
        (
            client,
            tokio::spawn(serve(
                stream,
                PEER,
                admitted(10),
                router,
                CancellationToken::new(),
            )),
        )
    }

    /// After how many seconds the server closes the connection.
    async fn seconds_until_the_end(serving: JoinHandle<()>) -> u64 {
        let start = Instant::now();
        serving.await.unwrap();
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_is_closed_after_ten_seconds() {
        let (_client, serving) = connect("");
        assert_eq!(seconds_until_the_end(serving).await, 10);
        let (mut client, serving) = connect("");
        client.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
        assert_eq!(seconds_until_the_end(serving).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_idle_between_requests() {
        let (mut client, serving) = connect("");
        for _ in 0..3 {
            client.write_all(REQUEST).await.unwrap();
            assert_ne!(client.read(&mut [0; 1_000]).await.unwrap(), 0);
            sleep(Duration::from_secs(70)).await;
        }
        assert_eq!(seconds_until_the_end(serving).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_sooner_if_there_are_many() {
        let crowded = || {
            let (client, stream) = duplex(1_000);
            let router = Router::new().route(
                "/",
                get(async || {
                    sleep(Duration::from_secs(20)).await;
                }),
            );
            let stop = CancellationToken::new();
            let serving = tokio::spawn(serve(stream, PEER, admitted(1), router, stop));
            (client, serving)
        };
        let (_client, serving) = crowded();
        assert_eq!(seconds_until_the_end(serving).await, 1);
        // A request that is running is not idle.
        let (mut client, serving) = crowded();
        client.write_all(REQUEST).await.unwrap();
        assert_ne!(client.read(&mut [0; 1_000]).await.unwrap(), 0);
        assert!(seconds_until_the_end(serving).await <= 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_its_response_is_disconnected() {
        let body = "0123456789".repeat(1_000).leak();
        let (mut client, serving) = connect(body);
        client.write_all(REQUEST).await.unwrap();
        // Slow, but it takes something.
        for _ in 0..5 {
            sleep(Duration::from_secs(25)).await;
            assert_eq!(client.read(&mut [0; 100]).await.unwrap(), 100);
        }
        assert_eq!(seconds_until_the_end(serving).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_a_disconnection_is_not_sent() {
        let (mut client, stream) = duplex(1_000);
        let router = Router::new().route(
            "/",
            get(|| async { axum::Extension(Disconnect(Closing::Close)) }),
        );
        let serving = tokio::spawn(serve(
            stream,
            PEER,
            admitted(10),
            router,
            CancellationToken::new(),
        ));
        client.write_all(REQUEST).await.unwrap();
        assert_eq!(client.read(&mut [0; 100]).await.unwrap(), 0);
        assert_eq!(seconds_until_the_end(serving).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_on_reads_the_response_of_a_request_whose_body_is_not_read() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n";
        let (mut client, serving) = connect("No.");
        client.write_all(head).await.unwrap();
        client.write_all(&vec![b'x'; 1_000_000]).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        assert!(
            response.starts_with("HTTP/1.1 200") && response.ends_with("No."),
            "{response}"
        );
        drop(client);
        assert_eq!(seconds_until_the_end(serving).await, 0);
        // A client that sends nothing and stays does not keep its place.
        let (mut client, serving) = connect("No.");
        client.write_all(head).await.unwrap();
        assert_eq!(seconds_until_the_end(serving).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_closes_a_connection_that_has_sent_nothing() {
        let (_client, stream) = duplex(1_000);
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(
            stream,
            PEER,
            admitted(10),
            Router::new(),
            stop.clone(),
        ));
        tokio::task::yield_now().await;
        stop.cancel();
        assert_eq!(seconds_until_the_end(serving).await, 0);
    }
}
