//! The router on a real socket: clients that disconnect, limits, and the graceful stop.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{Extensions, HeaderMap, HeaderName};
use futures_util::FutureExt;
use restante::http::server::{ConnectionLimits, serve};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::wait_slots::four_waits_by;
use testkit::{Answer, Engine, Harness, within};

/// Longer than any step of a test takes.
pub(super) const LONG: Duration = Duration::from_secs(600);

/// A server on a free port.
pub(super) struct Server {
    pub(super) api: Harness,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(engine: Engine, grace: Duration) -> Self {
        Self::start_with(engine, 1_000, 1_000, grace).await
    }

    /// A server for at most `all` connections, and `per_address` of one client.
    async fn start_with(engine: Engine, all: usize, per_address: usize, grace: Duration) -> Self {
        let api = Harness::on(engine).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let router = api.router.clone();
        let service = api.service.clone();
        let limits = ConnectionLimits {
            all,
            per_address,
            proxies: Vec::new(),
        };
        let serving = tokio::spawn(serve(
            listener,
            router,
            service,
            limits,
            stop.clone(),
            grace,
        ));
        Self {
            api,
            address,
            stop,
            serving,
        }
    }

    pub(super) async fn connect(&self) -> Client {
        Client(BufReader::new(
            TcpStream::connect(self.address).await.unwrap(),
        ))
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// The head of a request with the key.
    pub(super) fn head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: restante\r\nX-Api-Key: {}\r\n",
            self.api.key.as_str()
        )
    }

    /// A GET on a new connection, in a task whose abort closes the connection.
    fn spawn_get(&self, path: &str) -> JoinHandle<Answer> {
        let address = self.address;
        let request = format!("{}\r\n", self.head("GET", path));
        tokio::spawn(async move {
            let mut client = Client(BufReader::new(TcpStream::connect(address).await.unwrap()));
            client.write(request.as_bytes()).await;
            client.read().await
        })
    }

    /// A request whose body `{}` is still missing, and which the server is reading.
    async fn half_sent_request(&self) -> Client {
        let mut client = self.connect().await;
        let head = self.head("POST", "/v1/inboxes");
        client
            .write(format!("{head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n").as_bytes())
            .await;
        assert_eq!(within(client.read()).await.status, 100);
        client
    }

    /// Four waits that hold their slots, each on its own connection.
    pub(super) async fn four_waits(&self) -> Vec<(String, JoinHandle<Answer>)> {
        four_waits_by(&self.api, |path| self.spawn_get(path)).await
    }
}

/// One connection that sends and reads HTTP as text.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Reads an answer with a Content-Length.
    pub(super) async fn read(&mut self) -> Answer {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        Answer {
            status,
            headers,
            body: String::from_utf8(body).unwrap(),
            extensions: Extensions::new(),
        }
    }

    /// Reads until the server closes the connection.
    pub(super) async fn read_to_end(&mut self) -> String {
        let mut bytes = Vec::new();
        within(self.0.read_to_end(&mut bytes)).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

#[testkit::each_engine]
async fn a_connection_serves_one_request_after_the_other(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        client
            .write(format!("{}\r\n", server.head("GET", "/v1/health")).as_bytes())
            .await;
        assert_eq!(within(client.read()).await.status, 200);
    }
}

#[testkit::each_engine]
async fn a_long_list_is_streamed(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    let list = async || {
        let mut client = server.connect().await;
        let head = server.head("GET", &format!("/v1/inboxes/{inbox}/messages"));
        client
            .write(format!("{head}Connection: close\r\n\r\n").as_bytes())
            .await;
        let answer = client.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        answer
    };
    server.api.deliver(&inbox, "Hello").await;
    assert!(list().await.to_lowercase().contains("content-length: "));
    for _ in 0..100 {
        server.api.deliver(&inbox, "Hello").await;
    }
    let answer = list().await;
    assert!(
        answer
            .to_lowercase()
            .contains("transfer-encoding: chunked\r\n"),
        "{answer}"
    );
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "{answer}");
    assert_eq!(answer.matches("\"subject\":\"Hello\"").count(), 101);
}

#[testkit::each_engine]
async fn a_client_that_hangs_up_frees_its_place(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    let one_more = async || server.api.time_out(&inbox, "").await.status;
    let mut waits = server.four_waits().await;
    assert_eq!(one_more().await, 429);
    waits.remove(0).1.abort();
    // The server must notice the end of the stream; nothing else has to happen.
    within(async { while one_more().await != 408 {} }).await;
    assert!(waits.iter().all(|(_, wait)| !wait.is_finished()));
}

#[testkit::each_engine]
async fn near_the_limit_idle_connections_are_closed_and_others_are_not(engine: Engine) {
    for (all, per_address) in [(6, 100), (100, 6)] {
        let server = Server::start_with(engine, all, per_address, LONG).await;
        // The waits are open the longest, but not idle.
        let waits = server.four_waits().await;
        let health = format!("{}\r\n", server.head("GET", "/v1/health"));
        let mut silent = server.connect().await;
        let mut used = server.connect().await;
        used.write(health.as_bytes()).await;
        assert_eq!(within(used.read()).await.status, 200);
        assert_eq!(silent.read_to_end().await, "");
        assert_eq!(used.read_to_end().await, "");
        let mut next = server.connect().await;
        next.write(health.as_bytes()).await;
        assert_eq!(within(next.read()).await.status, 200);
        assert!(waits.iter().all(|(_, wait)| !wait.is_finished()));
        for (inbox, wait) in waits {
            server.api.deliver(&inbox, "Hello").await;
            assert_eq!(within(wait).await.unwrap().status, 200);
        }
    }
}

#[testkit::each_engine]
async fn past_the_limit_a_connection_waits_until_another_is_closed(engine: Engine) {
    let server = Server::start_with(engine, 2, 100, LONG).await;
    let mut running = [
        server.half_sent_request().await,
        server.half_sent_request().await,
    ];
    let mut third = server.connect().await;
    third
        .write(format!("{}\r\n", server.head("GET", "/v1/health")).as_bytes())
        .await;
    assert!(third.read().now_or_never().is_none());
    for client in &mut running {
        client.write(b"{}").await;
        assert_eq!(within(client.read()).await.status, 201);
    }
    assert_eq!(within(third.read()).await.status, 200);
}

#[testkit::each_engine]
async fn a_client_with_too_many_connections_gets_no_more(engine: Engine) {
    let server = Server::start_with(engine, 100, 2, LONG).await;
    let mut running = [
        server.half_sent_request().await,
        server.half_sent_request().await,
    ];
    assert_eq!(server.connect().await.read_to_end().await, "");
    running[0].write(b"{}").await;
    assert_eq!(within(running[0].read()).await.status, 201);
    // It is idle now, and there are many.
    assert_eq!(running[0].read_to_end().await, "");
    let mut client = server.connect().await;
    client
        .write(format!("{}\r\n", server.head("GET", "/v1/health")).as_bytes())
        .await;
    assert_eq!(within(client.read()).await.status, 200);
}

#[testkit::each_engine]
async fn a_head_that_a_proxy_could_read_otherwise_is_rejected(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let body = "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    for (rest, status) in [
        (
            format!("POST /v1/inboxes HTTP/1.1\r\nHost: a\r\n{body}"),
            401,
        ),
        (
            format!("POST /v1/inboxes HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n{body}"),
            501,
        ),
        (
            "POST /v1/inboxes HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
                .to_owned(),
            501,
        ),
        (
            "GET /health HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n".to_owned(),
            417,
        ),
        (
            "GET /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: x\r\n\r\n"
                .to_owned(),
            417,
        ),
        ("GET /health HTTP/1.1\nHost: a\r\n\r\n".to_owned(), 400),
        ("GET /health HTTP/1.1\r\nHost: a\n\r\n".to_owned(), 400),
        ("GET /health HTTP/1.1\r\nHost: a\r\n\n".to_owned(), 400),
    ] {
        let mut client = server.connect().await;
        client.write(rest.as_bytes()).await;
        assert_eq!(within(client.read()).await.status, status, "{rest}");
        if status != 401 {
            // What follows could be another request.
            assert_eq!(client.read_to_end().await, "", "{rest}");
        }
    }
}

#[testkit::each_engine]
async fn headers_are_bounded(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    for excess in [
        format!("X-Long: {}\r\n", "x".repeat(100_000)),
        "X-Many: x\r\n".repeat(200),
    ] {
        let mut client = server.connect().await;
        client
            .write(format!("{}{excess}\r\n", server.head("GET", "/v1/health")).as_bytes())
            .await;
        assert_eq!(within(client.read()).await.status, 431);
    }
}

#[testkit::each_engine]
async fn a_request_has_exactly_one_host(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    for (version, hosts, status) in [
        ("1.1", "Host: a\r\n", 200),
        ("1.0", "", 200),
        ("1.1", "", 400),
        ("1.1", "Host: a\r\nHost: a\r\n", 400),
        ("1.1", "Host: a\r\nhost: b\r\n", 400),
        ("1.0", "Host: a\r\nHost: b\r\n", 400),
    ] {
        let mut client = server.connect().await;
        client
            .write(format!("GET /v1/health HTTP/{version}\r\n{hosts}\r\n").as_bytes())
            .await;
        let answer = within(client.read()).await;
        assert_eq!(answer.status, status, "HTTP/{version} {hosts:?}");
        if status == 400 {
            assert_eq!(
                answer.error().1,
                "a request must have exactly one Host header"
            );
        }
    }
}

#[testkit::each_engine]
async fn a_client_that_is_still_sending_too_large_a_body_reads_the_refusal(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    for (path, bytes) in [
        ("/v1/inboxes".to_owned(), 1 << 20),
        (format!("/v1/inboxes/{inbox}/messages"), 12 << 20),
    ] {
        let mut client = server.connect().await;
        client
            .write(
                format!(
                    "{}Content-Length: {bytes}\r\n\r\n",
                    server.head("POST", &path)
                )
                .as_bytes(),
            )
            .await;
        within(client.write(&vec![b' '; bytes])).await;
        assert_eq!(
            within(client.read()).await.error(),
            (413, "body too large".to_owned())
        );
    }
}

/// More than what is read of a body that is too large, and a request that is refused before its
/// body is read.
#[testkit::each_engine]
async fn a_client_that_is_still_sending_a_body_that_is_not_read_reads_the_refusal(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let post = server.head("POST", "/v1/inboxes");
    let stranger = post.replace(server.api.key.as_str(), "rst_live_wrong");
    for (head, refusal) in [
        (post, (413, "body too large")),
        (stranger, (401, "unauthorized")),
    ] {
        let mut client = server.connect().await;
        client
            .write(format!("{head}Content-Length: 100000000\r\n\r\n").as_bytes())
            .await;
        within(client.write(&vec![b' '; 16 << 20])).await;
        let (status, message) = within(client.read()).await.error();
        assert_eq!((status, message.as_str()), refusal);
    }
}

#[testkit::each_engine]
async fn a_stop_closes_idle_connections_and_lets_running_requests_finish(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let mut idle = server.connect().await;
    idle.write(format!("{}\r\n", server.head("GET", "/v1/health")).as_bytes())
        .await;
    within(idle.read()).await;
    let mut running = server.half_sent_request().await;
    server.stop.cancel();
    assert_eq!(idle.read_to_end().await, "");
    assert!(!server.serving.is_finished());
    running.write(b"{}").await;
    assert_eq!(within(running.read()).await.status, 201);
    within(server.serving).await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[testkit::each_engine]
async fn a_stop_answers_open_waits_with_a_503_immediately(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let waits = server.four_waits().await;
    let mut running = server.half_sent_request().await;
    server.stop.cancel();
    for (_, wait) in waits {
        let answer = within(wait).await.unwrap();
        assert_eq!(answer.error(), (503, "service is stopping".to_owned()));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    // A request that is not a wait still has its time.
    running.write(b"{}").await;
    assert_eq!(within(running.read()).await.status, 201);
    within(server.serving).await.unwrap();
}
