//! How the server stops.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use testkit::http;
use testkit::server::{Server, first_start, serve};
use testkit::smtp::{Smtp, deliver};

#[test]
fn either_signal_stops_it_with_success() {
    for signal in ["TERM", "INT"] {
        let (_data_dir, server, _key) = first_start();
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
    }
}

#[test]
fn the_end_of_standard_input_stops_the_server_with_its_flag() {
    let data_dir = tempfile::tempdir().unwrap();
    let mut command = serve(data_dir.path());
    let mut server = Server::spawn(command.arg("--exit-with-stdin").stdin(Stdio::piped()));
    let mut input = server.take_input();
    input
        .write_all(b"What is written means nothing.\n")
        .unwrap();
    deliver(&server.smtp, "a@restante.example.com", "Hello", "text");
    drop(input);
    assert_eq!(server.wait().code(), Some(0));
    assert!(!data_dir.path().join("restante.db-wal").exists());
}

#[test]
fn a_closed_server_leaves_one_database_file() {
    let (data_dir, server, key) = first_start();
    deliver(&server.smtp, "a@restante.example.com", "Hello", "text");
    // The reader uses a separate connection.
    server.run_cli(&key, ["messages", "a"]);
    server.signal("TERM");
    assert!(server.wait().success());
    for name in ["restante.db-wal", "restante.db-shm"] {
        assert!(!data_dir.path().join(name).exists(), "{name}");
    }
}

#[test]
fn an_idle_smtp_session_does_not_hold_it_up() {
    let (_data_dir, server, _key) = first_start();
    let mut session = Smtp::connect(&server.smtp).unwrap();
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(
        session
            .say("NOOP")
            .map_or(true, |reply| reply.starts_with("421"))
    );
}

#[test]
fn an_open_wait_does_not_hold_it_up() {
    let (_data_dir, server, key) = first_start();
    let inbox = server.run_cli(&key, ["inbox", "create", "--json"]);
    let inbox: serde_json::Value = serde_json::from_str(&inbox).unwrap();
    let wait = format!(
        "{}/v1/inboxes/{}/messages/wait",
        server.url,
        inbox["id"].as_str().unwrap()
    );
    park_every_wait(&wait, &key);

    let start = Instant::now();
    server.signal("TERM");
    assert!(server.wait().success());
    // Requests that are not waits have four seconds. Without one it takes a few milliseconds.
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn clients_that_are_stuck_hold_it_up_for_five_seconds_at_most() {
    let (_data_dir, server, key) = first_start();
    let _request = half_sent_request(&server, &key);
    let mut session = Smtp::connect(&server.smtp).unwrap();
    for (command, reply) in [
        ("MAIL FROM:<a@sender.example>", "250"),
        ("RCPT TO:<a@restante.example.com>", "250"),
        ("DATA", "354"),
    ] {
        assert!(session.say(command).unwrap().starts_with(reply));
    }
    let start = Instant::now();
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_second_signal_stops_it_at_once() {
    let (_data_dir, server, key) = first_start();
    let _request = half_sent_request(&server, &key);
    server.signal("TERM");
    until_refused(&server);
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(1));
}

/// A request that the server is reading, and whose body does not arrive.
fn half_sent_request(server: &Server, key: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST /v1/inboxes HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\nContent-Length: 2\r\n"
    );
    client
        .write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes())
        .unwrap();
    let mut line = [0; 12];
    client.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100");
    client
}

/// Opens the four waits that a key may have. Returns when a fifth is refused.
fn park_every_wait(url: &str, key: &str) {
    for _ in 0..4 {
        let url = format!("{url}?timeout=120000");
        let key = key.to_owned();
        // A probe may take the slot of a wait, which then tries again. The stop of the server ends
        // the other waits.
        thread::spawn(move || while status(&url, &key).is_ok_and(|status| status == 429) {});
    }
    while status(&format!("{url}?timeout=1"), key).unwrap() != 429 {}
}

fn status(url: &str, key: &str) -> Result<u16, http::Error> {
    let request = http::get(url).header("Authorization", format!("Bearer {key}"));
    Ok(request.any_status().call()?.status().as_u16())
}

/// A server that stops closes its listeners first.
fn until_refused(server: &Server) {
    let address = server.url.strip_prefix("http://").unwrap();
    while TcpStream::connect(address).is_ok() {}
}
