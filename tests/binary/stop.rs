//! How a server stops.

use std::net::TcpStream;
use std::thread;

use super::server::{Server, first_start};
use super::smtp::Smtp;

#[test]
fn either_signal_stops_it_with_success() {
    for signal in ["TERM", "INT"] {
        let (_data_dir, server, _key) = first_start();
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
    }
}

#[test]
fn an_idle_smtp_session_does_not_hold_it_up() {
    let (_data_dir, server, _key) = first_start();
    let mut session = Smtp::connect(&server.smtp).unwrap();
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(session.say("NOOP").map_or(true, |reply| reply.starts_with("421")));
}

#[test]
fn a_second_signal_stops_it_at_once() {
    let (_data_dir, server, key) = first_start();
    let inbox = server.ask(&key, ["inbox", "create", "--json"]);
    let inbox: serde_json::Value = serde_json::from_str(&inbox).unwrap();
    let wait = format!("{}/v1/inboxes/{}/messages/wait", server.url, inbox["id"].as_str().unwrap());
    park_every_wait(&wait, &key);

    server.signal("TERM");
    until_refused(&server);
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(1));
}

/// Opens the four waits that a key may have, and returns when a fifth is refused.
fn park_every_wait(url: &str, key: &str) {
    for _ in 0..4 {
        let (url, authorization) = (format!("{url}?timeout=120000"), format!("Bearer {key}"));
        // Their answers do not come: the server is stopped first.
        thread::spawn(move || drop(ureq::get(&url).header("Authorization", authorization).call()));
    }
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let probe = || agent.get(format!("{url}?timeout=0")).header("Authorization", format!("Bearer {key}")).call();
    while probe().unwrap().status() != 429 {}
}

/// A server that stops closes its listeners first.
fn until_refused(server: &Server) {
    let address = server.url.strip_prefix("http://").unwrap();
    while TcpStream::connect(address).is_ok() {}
}
