//! Crowds of HTTP clients: more connections than are allowed, and clients that disconnect at random
//! moments.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;

use testkit::eventually;
use testkit::postgres::TestDatabase;
use testkit::server::Server;
use testkit::smtp::deliver;

/// The variable with the number of clients that disconnect; `./test` uses few.
const VARIABLE: &str = "RESTANTE_TEST_HANG_UPS";
/// The variable with the number of idle connections; 20,000 need `ulimit -n 30000`.
const IDLE_VARIABLE: &str = "RESTANTE_TEST_IDLE_CONNECTIONS";
/// Clients at once.
const BESIDE: usize = 50;
/// How much the memory of the process may grow, in KiB.
const GROWTH: usize = 4 * 1024;
const KEY: &str = "rst_live_0123456789abcdefghijklmnopqrstuv";

/// A client that speaks HTTP by hand.
struct Client(TcpStream);

impl Client {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Self(stream)
    }

    fn write(&mut self, request: &str) {
        self.0.write_all(request.as_bytes()).unwrap();
    }

    /// The answer, which must be short.
    fn read(&mut self) -> String {
        let mut answer = [0; 4_096];
        let length = self.0.read(&mut answer).unwrap();
        String::from_utf8(answer[..length].to_vec()).unwrap()
    }
}

fn head(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {KEY}\r\n")
}

/// The status of the answer to a request on a new connection.
fn status(server: &Server, method: &str, path: &str) -> u16 {
    let mut client = Client::connect(server);
    client.write(&format!("{}\r\n", head(method, path)));
    client.read().split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn idle_connections_keep_no_client_out() {
    let connections = std::env::var(IDLE_VARIABLE).map_or(200, |count| count.parse().unwrap());
    let limit = (connections / 2).to_string();
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        data_dir.path(),
        &["--api-key", KEY, "--http-connections", &limit],
    );
    let health = format!("{}\r\n", head("GET", "/health"));
    let mut waiting = Client::connect(&server);
    deliver(&server.smtp, "crowd@restante.example.com", "Hello", "Hello");
    waiting.write(&format!(
        "{}\r\n",
        head(
            "GET",
            "/v1/inboxes/crowd/messages/wait?subject=late&timeout=120000"
        )
    ));
    for sends in [false, true] {
        let idle: Vec<Client> = (0..connections)
            .map(|_| {
                let mut client = Client::connect(&server);
                if sends {
                    client.write(&health);
                    assert!(client.read().starts_with("HTTP/1.1 200"));
                }
                client
            })
            .collect();
        for path in ["/health", "/v1/inboxes/crowd"] {
            let start = Instant::now();
            assert_eq!(status(&server, "GET", path), 200);
            let sent = if sends { "one request" } else { "nothing" };
            let took = start.elapsed();
            println!(
                "{path} under {} connections that have sent {sent}: {took:?}",
                idle.len()
            );
            // One by one, the idle connections would be closed after 10 and after 75 seconds.
            assert!(took < Duration::from_secs(5), "{path}: {took:?}");
        }
    }
    deliver(&server.smtp, "crowd@restante.example.com", "late", "Hello");
    assert!(waiting.read().starts_with("HTTP/1.1 200"));
}

#[test]
fn disconnecting_clients_leave_nothing_behind_on_sqlite() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--api-key", KEY]);
    check_hang_ups(&server);
}

#[test]
fn disconnecting_clients_leave_nothing_behind_on_postgres() {
    let data_dir = tempfile::tempdir().unwrap();
    let database = TestDatabase::create();
    let server = Server::start(
        data_dir.path(),
        &["--api-key", KEY, "--database", &database.text()],
    );
    check_hang_ups(&server);
    assert_eq!(database.named_locks(false), 0);
}

fn check_hang_ups(server: &Server) {
    let clients = std::env::var(VARIABLE).map_or(500, |count| count.parse().unwrap());
    deliver(&server.smtp, "crowd@restante.example.com", "Hello", "Hello");
    // The first clients show how much memory the process needs; the others must not need more.
    hang_up_all(server, clients.clamp(500, 2_000));
    // By chance, more of them may be there at the same time than before. A leak would grow in every
    // round.
    let mut grown = (0..3).map(|_| {
        let before = server.resident_kib();
        hang_up_all(server, clients);
        let after = server.resident_kib();
        #[allow(clippy::print_stdout, reason = "the large form is run for this figure")]
        {
            println!("{clients} hang-ups: {before} KiB before, {after} KiB after");
        }
        after.saturating_sub(before)
    });
    assert!(
        grown.any(|grown| grown <= GROWTH),
        "the memory grows by more than {GROWTH} KiB"
    );
    // No connection was leaked: more clients are served at once than the pool has connections.
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| assert_eq!(status(server, "GET", "/v1/inboxes/crowd"), 200));
        }
    });
    // No slot was leaked: four waits at once are accepted.
    let wait = format!(
        "{}\r\n",
        head(
            "GET",
            "/v1/inboxes/crowd/messages/wait?subject=none&timeout=2000"
        )
    );
    // The server may not have noticed the end of another client.
    eventually("four waits at once", || {
        let mut waits: Vec<_> = (0..4).map(|_| Client::connect(server)).collect();
        waits.iter_mut().for_each(|client| client.write(&wait));
        waits
            .iter_mut()
            .map(Client::read)
            .filter(|answer| answer.starts_with("HTTP/1.1 408"))
            .count()
            == 4
    });
}

/// Lets clients disconnect, a few dozen at a time. Returns when the server has noticed the last
/// one.
fn hang_up_all(server: &Server, clients: usize) {
    let start = Instant::now();
    let max_time =
        Duration::from_secs(10) + Duration::from_millis(10) * u32::try_from(clients).unwrap();
    for _ in 0..clients.div_ceil(BESIDE) {
        thread::scope(|scope| (0..BESIDE).for_each(|_| drop(scope.spawn(|| hang_up(server)))));
        // Otherwise connections that the server has not accepted yet would count as memory.
        while server.open_sockets() > BESIDE {
            assert!(start.elapsed() < max_time, "connections stay open");
        }
    }
    while status(
        server,
        "GET",
        "/v1/inboxes/crowd/messages/wait?subject=none&timeout=1",
    ) != 408
    {
        assert!(
            start.elapsed() < max_time,
            "a place for a wait is still taken"
        );
    }
}

/// Sends a request, or a part of it, and disconnects shortly after.
fn hang_up(server: &Server) {
    let messages = "/v1/inboxes/crowd/messages";
    let body = r#"{"to":"crowd@restante.example.com","subject":"Hello"}"#;
    let mut random = rand::rng();
    let request = match random.random_range(0..6) {
        0 => format!("{}\r\n", head("GET", messages)),
        1 => format!("{}\r\n", head("GET", "/v1/inboxes/crowd")),
        // The body never ends.
        2 => format!(
            "{}Content-Length: 10000\r\n\r\n{body}",
            head("POST", messages)
        ),
        _ => format!(
            "{}\r\n",
            head(
                "GET",
                &format!("{messages}/wait?subject=none&timeout=120000")
            )
        ),
    };
    let length = if random.random_range(0..5) == 0 {
        random.random_range(1..request.len())
    } else {
        request.len()
    };
    let mut client = Client::connect(server);
    client.write(&request[..length]);
    thread::sleep(Duration::from_micros(random.random_range(0..5_000)));
}
