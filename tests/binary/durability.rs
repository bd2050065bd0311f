//! A message with a reply 250 is stored once, no matter how the process ends.
//!
//! By default a few rounds are run;
//! `RESTANTE_KILL_ROUNDS=100 cargo test --test binary durability -- --nocapture` runs more.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::power::Disk;
use testkit::server::{Server, first_start};
use testkit::smtp::Smtp;

const SENDERS: usize = 8;
const ROUNDS: usize = 3;

#[test]
fn a_killed_server_has_every_message_that_it_acknowledged_once() {
    let (data_dir, server, key) = first_start();
    let acknowledged = kill_and_compare(server, &key, || Server::start(data_dir.path(), &[]));
    println!("{acknowledged} messages acknowledged, none lost, none doubled");
}

#[test]
fn a_power_cut_takes_no_message_that_was_acknowledged() {
    let disk = Disk::new();
    let data_dir = tempfile::tempdir().unwrap();
    let start = || Server::spawn(&mut disk.serve(data_dir.path()));
    let server = start();
    let key = server.made_key().unwrap().to_owned();
    let acknowledged = kill_and_compare(server, &key, || {
        disk.cut(data_dir.path());
        start()
    });
    let database = rusqlite::Connection::open(data_dir.path().join("restante.db")).unwrap();
    let whole = database.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(whole.unwrap(), "ok");
    println!("{acknowledged} messages acknowledged, none lost, none doubled");
}

/// Checks that a power cut really loses data that was not flushed, which the other test relies on.
#[test]
fn a_power_cut_takes_what_a_disk_has_not_flushed() {
    let disk = Disk::forgetful();
    let data_dir = tempfile::tempdir().unwrap();
    let start = || Server::spawn(&mut disk.serve(data_dir.path()));
    let first = start();
    assert!(first.made_key().is_some());
    first.kill();
    disk.cut(data_dir.path());
    assert!(
        start().made_key().is_some(),
        "the first key was shown, and is lost"
    );
}

/// Kills the server under load and restarts it, for this many rounds, and then looks for the
/// messages of all rounds. Returns how many were acknowledged.
fn kill_and_compare(mut server: Server, key: &str, restart: impl Fn() -> Server) -> usize {
    let rounds = std::env::var("RESTANTE_KILL_ROUNDS")
        .map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let address = server.run_cli(key, ["inbox", "create"]);
        // Each kill comes at another point of the load: at once, or after some batches.
        let subjects = acknowledged_until_killed(server, &address, round * 37 % 200);
        acknowledged.push((address, subjects));
        server = restart();
    }
    for (address, subjects) in &acknowledged {
        compare(subjects, &server.run_cli(key, ["messages", address]));
    }
    acknowledged
        .iter()
        .map(|(_, subjects)| subjects.len())
        .sum()
}

/// Kills `server` under load after this many acknowledgements. Returns the subjects of all
/// acknowledged messages.
fn acknowledged_until_killed(server: Server, address: &str, before_the_kill: usize) -> Vec<String> {
    let (acknowledge, acknowledged) = channel();
    let senders: Vec<_> = (0..SENDERS)
        .map(|number| {
            let smtp = server.smtp.clone();
            let address = address.to_owned();
            let acknowledge = acknowledge.clone();
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
    assert!(
        subjects.len() >= before_the_kill,
        "{} of {before_the_kill}, and no more came",
        subjects.len()
    );
    subjects
}

/// Looks for the `acknowledged` messages of an inbox in its list.
fn compare(acknowledged: &[String], listed: &str) {
    let mut stored: HashMap<&str, usize> = HashMap::new();
    for subject in listed.lines().filter_map(|line| line.rsplit('\t').next()) {
        *stored.entry(subject).or_default() += 1;
    }
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|subject| !stored.contains_key(subject.as_str()))
        .collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let doubled: Vec<_> = stored.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "stored more than once: {doubled:?}");
}

/// Sends one message after another, and passes on the subjects of those with a reply 250.
fn send_until_the_end(smtp: &str, address: &str, number: usize, acknowledge: &Sender<String>) {
    // The server may have been killed before the connection was accepted.
    let Ok(mut connection) = Smtp::connect(smtp) else {
        return;
    };
    for count in 0.. {
        let subject = format!("{number}-{count}");
        match connection.send(address, &subject, &text(count)) {
            Ok(reply) if reply.starts_with("250") => acknowledge.send(subject).unwrap(),
            Ok(reply) => panic!("{reply}"),
            Err(_) => return,
        }
    }
}

/// Mostly short; some messages take many pages, so that there are checkpoints.
fn text(count: usize) -> String {
    let lines = if count % 8 == 7 { 2_000 } else { 1 };
    (0..lines)
        .map(|_| {
            format!(
                "{:032x}{:032x}\r\n",
                rand::random::<u128>(),
                rand::random::<u128>()
            )
        })
        .collect()
}
