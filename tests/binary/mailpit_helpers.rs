//! Mailpit's WebSocket, and test helpers for Mailpit, which `./test` fetches, with the program;
//! `tests/mailpit` says what they do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::server::{Server, printed};
use testkit::smtp::deliver;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const FLAGS: [&str; 6] = [
    "--mailpit-api",
    "open",
    "--accept-domains",
    "*",
    "--mailpit-listen",
    "127.0.0.1:0",
];

#[test]
fn the_helper_for_node_finds_its_messages() {
    let data_dir = tempdir().unwrap();
    let server = Server::start(data_dir.path(), &FLAGS);
    let mut node = Command::new("node");
    node.arg(format!("{ROOT}/tests/mailpit/helper.mjs")).env(
        "HELPERS",
        format!("{ROOT}/target/mailpit-node/node_modules"),
    );
    let said = printed(
        node.env("MAILPIT_URL", server.address("Mailpit"))
            .env("RESTANTE_API_KEY", server.made_key().unwrap()),
    );
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn the_helpers_for_python_find_their_messages() {
    let data_dir = tempdir().unwrap();
    let server = Server::start(data_dir.path(), &FLAGS);
    let mut python = Command::new(format!("{ROOT}/target/mailpit-python/bin/python"));
    python.args([
        "-B",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
    ]);
    python
        .arg(format!("{ROOT}/tests/mailpit/test_helpers.py"))
        .args(["-c", "/dev/null", "--rootdir", ROOT]);
    let said = printed(
        python
            .env("MAILPIT_URL", format!("{}/mailpit/", server.url))
            .env("MAILPIT_SMTP", &server.smtp),
    );
    assert!(said.contains("3 passed"), "{said}");
}

/// A WebSocket on `/api/events`; the status line if there is none.
fn follow(url: &str) -> Result<TcpStream, String> {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    if !head.starts_with("HTTP/1.1 101 ") {
        return Err(head.lines().next().unwrap().to_owned());
    }
    // The example of RFC 6455.
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    Ok(stream)
}

/// The kind and the content of the next frame.
fn frame(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut start = [0; 2];
    stream.read_exact(&mut start).unwrap();
    let mut length = u16::from(start[1]);
    if length == 126 {
        let mut long = [0; 2];
        stream.read_exact(&mut long).unwrap();
        length = u16::from_be_bytes(long);
    }
    let mut content = vec![0; usize::from(length)];
    stream.read_exact(&mut content).unwrap();
    (start[0], content)
}

#[test]
fn a_websocket_announces_new_messages_until_the_server_stops() {
    let data_dir = tempdir().unwrap();
    let server = Server::start(data_dir.path(), &FLAGS);
    let url = server.address("Mailpit");
    let send = |name: &str| deliver(&server.smtp, &format!("{name}@app.example"), name, "x");
    send("earlier");
    let mut stream = follow(&url).unwrap();
    for name in ["ada", "bob"] {
        send(name);
        let event = |stream: &mut TcpStream| {
            let (kind, content) = frame(stream);
            assert_eq!(kind, 0x81);
            serde_json::from_slice::<Value>(&content).unwrap()
        };
        let new = event(&mut stream);
        assert_eq!(
            (&new["Type"], &new["Data"]["Subject"]),
            (&json!("new"), &json!(name))
        );
        assert_eq!(event(&mut stream)["Type"], "stats");
    }
    // As for other streams, 20 of one client are open; one that has left makes room.
    let others: Vec<_> = (1..20).map(|_| follow(&url).unwrap()).collect();
    assert_eq!(follow(&url).unwrap_err(), "HTTP/1.1 429 Too Many Requests");
    drop(others);
    let deadline = Instant::now() + Duration::from_secs(10);
    while follow(&url).is_err() {
        assert!(Instant::now() < deadline, "no place is free again");
    }
    server.signal("TERM");
    assert_eq!(frame(&mut stream).0, 0x88);
    assert!(server.wait().success());
}
