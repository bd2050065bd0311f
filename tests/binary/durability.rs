//! What was answered with 250 is there, once, whatever ends the process.
//!
//! Three rounds are run by default; `RESTANTE_KILL_ROUNDS=200 cargo nextest run a_killed_server` runs as many as wanted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::server::{Server, first_start};
use super::smtp::Smtp;

const SENDERS: usize = 8;
const ROUNDS: usize = 3;

#[test]
fn a_killed_server_has_every_message_that_it_acknowledged_once() {
    let rounds = std::env::var("RESTANTE_KILL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let (data_dir, mut server, key) = first_start();
    let mut acknowledged = 0;
    for round in 0..rounds {
        // The kill comes at another point of the load each time: at once, or after some batches.
        let before_the_kill = round * 37 % 200;
        let (next, count) = kill_and_compare(server, data_dir.path(), &key, before_the_kill);
        (server, acknowledged) = (next, acknowledged + count);
    }
    println!("{rounds} kills, {acknowledged} messages acknowledged, none lost, none doubled");
}

/// Kills `server` under load after so many acknowledgements; returns the next one, and how many there were in all.
fn kill_and_compare(server: Server, data_dir: &Path, key: &str, before_the_kill: usize) -> (Server, usize) {
    let address = server.ask(key, ["inbox", "create"]);
    let (acknowledge, acknowledged) = channel();
    let senders: Vec<_> = (0..SENDERS)
        .map(|number| {
            let (smtp, address, acknowledge) = (server.smtp.clone(), address.clone(), acknowledge.clone());
            thread::spawn(move || send_until_the_end(&smtp, &address, number, &acknowledge))
        })
        .collect();
    drop(acknowledge);

    let mut subjects: Vec<String> = acknowledged.iter().take(before_the_kill).collect();
    server.kill();
    subjects.extend(acknowledged);
    for sender in senders {
        sender.join().unwrap();
    }
    assert!(subjects.len() >= before_the_kill);

    let server = Server::start(data_dir, &[]);
    let listed = server.ask(key, ["messages", &address]);
    let mut stored: HashMap<&str, usize> = HashMap::new();
    for subject in listed.lines().filter_map(|line| line.rsplit('\t').next()) {
        *stored.entry(subject).or_default() += 1;
    }
    let lost: Vec<_> = subjects.iter().filter(|subject| !stored.contains_key(subject.as_str())).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let doubled: Vec<_> = stored.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "stored more than once: {doubled:?}");
    (server, subjects.len())
}

/// Sends one message behind the other, and passes on the subjects of those that were answered with 250.
fn send_until_the_end(smtp: &str, address: &str, number: usize, acknowledge: &Sender<String>) {
    // The server may be gone before the connection is there.
    let Ok(mut connection) = Smtp::connect(smtp) else { return };
    for count in 0.. {
        let subject = format!("{number}-{count}");
        match connection.send(address, &subject, "text") {
            Ok(reply) if reply.starts_with("250") => acknowledge.send(subject).unwrap(),
            Ok(reply) => panic!("{reply}"),
            Err(_) => return,
        }
    }
}
