//! The metrics and the health of a running server.

use std::io::{Read, Write};
use std::net::TcpStream;

use testkit::eventually;
use testkit::http;
use testkit::server::Server;
use testkit::smtp::{Smtp, deliver};

/// The status line and the body of an answer.
pub(crate) fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nHost: monitor\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn monitored(data_dir: &std::path::Path) -> (Server, String, String) {
    let server = Server::start(data_dir, &["--metrics-listen", "127.0.0.1:0"]);
    let monitor = monitor_of(&server);
    let key = server.made_key().unwrap().to_owned();
    (server, monitor, key)
}

/// The address of the metrics of `server`.
pub(crate) fn monitor_of(server: &Server) -> String {
    let monitor = server
        .greeting
        .lines()
        .find_map(|line| line.trim().strip_prefix("Metrics "));
    monitor.expect("the greeting says where").trim().to_owned()
}

/// The value of a metric with these labels, written as in the output.
pub(crate) fn value(metrics: &str, name: &str) -> f64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in\n{metrics}"))
        .parse()
        .unwrap()
}

/// Returns when the metrics of `server` have this line.
pub(crate) fn until_shown(server: &Server, line: &str) {
    let monitor = monitor_of(server);
    eventually(line, || {
        get(&monitor, "/metrics")
            .1
            .lines()
            .any(|shown| shown == line)
    });
}

#[test]
fn messages_refusals_and_waits_are_counted() {
    let data_dir = tempfile::tempdir().unwrap();
    let (server, monitor, key) = monitored(data_dir.path());
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server.smtp, &address, "one", "Your code is 482913.");
    deliver(&server.smtp, &address, "two", "text");
    let mut open = Smtp::connect(&server.smtp).unwrap();
    open.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        open.say("RCPT TO:<a@elsewhere.example>")
            .unwrap()
            .starts_with("550")
    );
    assert_eq!(server.run_cli(&key, ["wait", &address, "--otp"]), "482913");

    // The connections of the deliveries were closed without QUIT.
    until_shown(&server, "restante_smtp_connections_open 1");
    let (status, metrics) = get(&monitor, "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    for (name, expected) in [
        ("restante_smtp_connections_open", 1.0),
        ("restante_smtp_connections_total{outcome=\"accepted\"}", 3.0),
        ("restante_smtp_messages_total{outcome=\"stored\"}", 2.0),
        (
            "restante_smtp_refusals_total{reason=\"relay_not_permitted\"}",
            1.0,
        ),
        ("restante_delivery_seconds_count", 2.0),
        ("restante_commit_deliveries_sum", 2.0),
        ("restante_waits_open", 0.0),
        ("restante_waits_total{outcome=\"found\"}", 1.0),
        ("restante_outgoing_queued", 0.0),
        ("restante_http_requests_total{status=\"2xx\"}", 3.0),
    ] {
        assert!(
            (value(&metrics, name) - expected).abs() < f64::EPSILON,
            "{name} is not {expected} in\n{metrics}"
        );
    }
    assert!(value(&metrics, "restante_smtp_message_bytes_total") > 100.0);
    assert!(!metrics.contains(&key) && !metrics.contains(address.split('@').next().unwrap()));
}

#[test]
fn a_refused_wait_is_counted_once() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        data_dir.path(),
        &["--metrics-listen", "127.0.0.1:0", "--waits-per-key", "1"],
    );
    let key = server.made_key().unwrap();
    let inbox = server
        .run_cli(key, ["inbox", "create"])
        .split('@')
        .next()
        .unwrap()
        .to_owned();
    let mut open = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let path = format!("/v1/inboxes/{inbox}/messages/wait?timeout");
    write!(
        open,
        "GET {path}=120000 HTTP/1.1\r\nHost: restante\r\nX-Api-Key: {key}\r\n\r\n"
    )
    .unwrap();
    until_shown(&server, "restante_waits_open 1");
    let refused = http::get(format!("{}{path}=1", server.url))
        .header("X-Api-Key", key)
        .call();
    assert!(
        matches!(refused, Err(http::Error::Status(429))),
        "{refused:?}"
    );
    until_shown(&server, "restante_waits_total{outcome=\"refused\"} 1");
}

#[test]
fn a_wait_compares_each_message_once() {
    const MESSAGES: u32 = 100;
    let data_dir = tempfile::tempdir().unwrap();
    let (server, monitor, key) = monitored(data_dir.path());
    let address = server.run_cli(&key, ["inbox", "create"]);
    let inbox = address.split('@').next().unwrap();
    let url = format!(
        "{}/v1/inboxes/{inbox}/messages/wait?subject=code&timeout=120000",
        server.url
    );
    let subjects = std::thread::scope(|scope| {
        let wait = || {
            let answer = http::get(&url).header("X-Api-Key", &key).call().unwrap();
            let message: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
            message["subject"].as_str().unwrap().to_owned()
        };
        let waits: Vec<_> = (0..4).map(|_| scope.spawn(wait)).collect();
        until_shown(&server, "restante_waits_open 4");
        let mut smtp = Smtp::connect(&server.smtp).unwrap();
        for _ in 1..MESSAGES {
            assert!(
                smtp.send(&address, "other", "text")
                    .unwrap()
                    .starts_with("250")
            );
        }
        assert!(
            smtp.send(&address, "Your code", "text")
                .unwrap()
                .starts_with("250")
        );
        waits
            .into_iter()
            .map(|wait| wait.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(subjects, ["Your code"; 4]);
    let (_, metrics) = get(&monitor, "/metrics");
    let compared = value(&metrics, "restante_wait_comparisons_total");
    assert!(
        (compared - f64::from(4 * MESSAGES)).abs() < f64::EPSILON,
        "{compared} comparisons"
    );
}

#[test]
fn health_fails_when_the_store_does() {
    let data_dir = tempfile::tempdir().unwrap();
    let (server, monitor, _) = monitored(data_dir.path());
    assert_eq!(
        get(&monitor, "/health"),
        ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned())
    );
    let database = rusqlite::Connection::open(data_dir.path().join("restante.db")).unwrap();
    database
        .execute_batch("ALTER TABLE projects RENAME TO hidden")
        .unwrap();
    let (status, body) = get(&monitor, "/health");
    assert_eq!(
        (status.as_str(), body.as_str()),
        (
            "HTTP/1.1 500 Internal Server Error",
            "{\"error\":\"unhealthy: the database fails\"}"
        )
    );
    assert!(
        get(server.url.trim_start_matches("http://"), "/v1/health")
            .0
            .contains("500")
    );
    let refused = Smtp::connect(&server.smtp)
        .unwrap()
        .send("a@restante.example.com", "x", "y")
        .unwrap();
    assert!(
        refused.starts_with('5') || refused.starts_with('4'),
        "{refused}"
    );
    database
        .execute_batch("ALTER TABLE hidden RENAME TO projects")
        .unwrap();
    assert_eq!(get(&monitor, "/health").0, "HTTP/1.1 200 OK");
    deliver(&server.smtp, "a@restante.example.com", "x", "y");
}
