//! Everything at once that clients, with one key or without a key, can do to use memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use testkit::server::Server;
use testkit::smtp::deliver;

const KEY: &str = "rst_live_0123456789abcdefghijklmnopqrstuv";
/// Maximum memory of the process, in KiB.
const MAX_KIB: usize = 768 * 1024;
/// The text of each large message.
const TEXT: usize = 4 * 1024 * 1024;
/// Messages with such a text.
const MESSAGES: usize = 6;
/// Clients of each kind.
const CLIENTS: usize = 40;
const BODY: usize = 10 * 1024 * 1024;

/// Sends a request. Returns its connection when the server has started to answer, or has closed it.
/// The rest of the answer is not read.
fn unread(server: &Server, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(request);
    let _ = stream.peek(&mut [0]);
    stream
}

/// Sends a request without its last byte.
fn unfinished(server: &Server, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let _ = stream.write_all(&request[..request.len() - 1]);
    stream
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {KEY}\r\n\r\n").into_bytes()
}

fn post(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {KEY}\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The id of the large message whose answers are never read.
fn first_message(server: &Server) -> String {
    let mut stream = unread(server, &get("/v1/inboxes/flood/messages?limit=1"));
    let mut start = [0; 4_096];
    let length = stream.read(&mut start).unwrap();
    let start = String::from_utf8_lossy(&start[..length]).into_owned();
    start.split("\"id\":\"").nth(1).unwrap()[..36].to_owned()
}

#[test]
fn no_flood_takes_more_than_its_share_of_memory() {
    // Given an inbox with large messages
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--api-key", KEY]);
    let line = format!("{}\r\n", "word ".repeat(14));
    for _ in 0..MESSAGES {
        deliver(
            &server.smtp,
            "flood@restante.example.com",
            "Large",
            &line.repeat(TEXT / line.len()),
        );
    }
    let message = first_message(&server);
    let field = format!("credential={}", "x".repeat(BODY));
    let pairs = "a=b&".repeat(BODY / 4);
    let send = format!(
        r#"{{"to":"flood@restante.example.com","subject":"x","text":"{}"}}"#,
        "x".repeat(BODY - 100)
    );
    let requests = [
        get("/v1/inboxes/flood/messages"),
        get(&format!("/v1/messages/{message}")),
        post(
            "/sign-in",
            "application/x-www-form-urlencoded",
            field.as_bytes(),
        ),
        post(
            "/sign-in",
            "application/x-www-form-urlencoded",
            pairs.as_bytes(),
        ),
    ];
    let send = post(
        "/v1/inboxes/flood/messages",
        "application/json",
        send.as_bytes(),
    );

    // When clients ask for them and read nothing, fill in endless forms, and send mail that never
    // ends
    let held: Vec<TcpStream> = thread::scope(|scope| {
        let asked = requests
            .iter()
            .flat_map(|request| (0..CLIENTS).map(move |_| request));
        let mut threads: Vec<_> = asked
            .map(|request| scope.spawn(|| unread(&server, request)))
            .collect();
        threads.extend((0..CLIENTS).map(|_| scope.spawn(|| unfinished(&server, &send))));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });

    // Then the process stays within its bounds, and mail is still taken
    let peak = server.peak_kib();
    assert!(peak <= MAX_KIB, "{} MiB", peak / 1024);
    deliver(
        &server.smtp,
        "flood@restante.example.com",
        "Small",
        "Your code is 482913.",
    );
    drop(held);
}
