//! `restante watch`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use testkit::port::ReservedPort;
use testkit::server::{Server, command, failed, first_start};
use testkit::smtp::deliver;

use super::metrics::until_shown;

/// A running `restante watch`, and its output. It is ready when this returns.
fn watch(server: &Server, key: &str, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut watch = server.client(key, ["watch"].into_iter().chain(arguments.iter().copied()));
    let mut child = watch
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    notes.read_line(&mut said).unwrap();
    assert!(said.contains("Waiting for messages"), "{said}");
    // Kept open until the process ends.
    std::thread::spawn(move || notes.lines().for_each(drop));
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end_matches('\n').to_owned()
}

#[test]
fn messages_are_printed_as_they_arrive_and_earlier_ones_are_not() {
    let (_data_dir, server, key) = first_start();
    let [one, other] = [(); 2].map(|()| server.run_cli(&key, ["inbox", "create"]));
    deliver(&server.smtp, &one, "Earlier", "text");
    let (mut all, mut printed) = watch(&server, &key, &[]);
    let (mut single, mut json) = watch(&server, &key, &[&other, "--json"]);
    deliver(&server.smtp, &one, "Welcome", "text");
    deliver(&server.smtp, &other, "Sign in", "Your code is 482913.");
    let first = line(&mut printed);
    let columns: Vec<_> = first.split('\t').collect();
    assert_eq!(
        columns[2..],
        [one.as_str(), "app@example.com", "Welcome", ""],
        "{first}"
    );
    assert!(line(&mut printed).ends_with("Sign in\t482913"));
    let message: Value = serde_json::from_str(&line(&mut json)).unwrap();
    assert_eq!(
        (message["subject"].as_str(), message["code"].as_str()),
        (Some("Sign in"), Some("482913"))
    );
    // The id is one that the other commands take.
    assert!(
        server
            .run_cli(&key, ["message", columns[0]])
            .contains("Subject:  Welcome")
    );
    for child in [&mut all, &mut single] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn no_message_is_missed_through_a_restart() {
    let data_dir = tempfile::tempdir().unwrap();
    let port = ReservedPort::new();
    let listen = format!("127.0.0.1:{}", port.number());
    let serve = || {
        let flags = [
            "--smtp-listen",
            "127.0.0.1:0",
            "--metrics-listen",
            "127.0.0.1:0",
            "--http-listen",
            &listen,
        ];
        Server::spawn(
            command(["serve"])
                .args(flags)
                .arg("--data-dir")
                .arg(data_dir.path()),
        )
    };
    let server = serve();
    let key = server.made_key().unwrap().to_owned();
    let (mut child, mut printed) = watch(&server, &key, &[]);
    deliver(&server.smtp, "a@restante.example.com", "one", "text");
    assert!(line(&mut printed).contains("one"));
    server.kill();
    let server = serve();
    deliver(&server.smtp, "a@restante.example.com", "two", "text");
    assert!(line(&mut printed).contains("two"));
    until_shown(&server, "restante_waits_open 0");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_watch_that_cannot_work_fails_immediately() {
    let (_data_dir, server, key) = first_start();
    for (key, arguments, says) in [
        (
            key.as_str(),
            &["watch", "nobody"][..],
            "there is no inbox nobody",
        ),
        (
            "rst_live_00000000000000000000000000000000",
            &["watch"],
            "rejected the API key",
        ),
    ] {
        let (code, said) = failed(&mut server.client(key, arguments.iter().copied()));
        assert!(code == 2 && said.contains(says), "{said}");
    }
}
