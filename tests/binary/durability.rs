//! What was answered with 250 is there, whatever ends the process.

use std::collections::HashSet;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::server::{Server, first_start};
use super::smtp::Smtp;

const SENDERS: usize = 8;
const ACKNOWLEDGED_BEFORE_THE_KILL: usize = 200;

#[test]
fn a_killed_server_has_every_message_that_it_acknowledged() {
    let (data_dir, server, key) = first_start();
    let address = server.ask(&key, ["inbox", "create"]);
    let (acknowledge, acknowledged) = channel();
    let senders: Vec<_> = (0..SENDERS)
        .map(|number| {
            let (smtp, address, acknowledge) = (server.smtp.clone(), address.clone(), acknowledge.clone());
            thread::spawn(move || send_until_the_end(&smtp, &address, number, &acknowledge))
        })
        .collect();
    drop(acknowledge);

    let mut subjects: Vec<String> = acknowledged.iter().take(ACKNOWLEDGED_BEFORE_THE_KILL).collect();
    server.kill();
    subjects.extend(acknowledged);
    for sender in senders {
        sender.join().unwrap();
    }
    assert!(subjects.len() >= ACKNOWLEDGED_BEFORE_THE_KILL);

    let server = Server::start(data_dir.path(), &[]);
    let listed = server.ask(&key, ["messages", &address]);
    let stored: HashSet<&str> = listed.lines().filter_map(|line| line.rsplit('\t').next()).collect();
    let lost: Vec<_> = subjects.iter().filter(|subject| !stored.contains(subject.as_str())).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}

/// Sends one message behind the other, and passes on the subjects of those that were answered with 250.
fn send_until_the_end(smtp: &str, address: &str, number: usize, acknowledge: &Sender<String>) {
    let mut connection = Smtp::connect(smtp).unwrap();
    for count in 0.. {
        let subject = format!("{number}-{count}");
        match connection.send(address, &subject, "text") {
            Ok(reply) if reply.starts_with("250") => acknowledge.send(subject).unwrap(),
            Ok(reply) => panic!("{reply}"),
            Err(_) => return,
        }
    }
}
