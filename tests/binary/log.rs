//! A log that cannot be written, or is not read, delays nothing.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::thread;

use super::metrics::{get, monitor_of, value};
use testkit::server::{Server, serve};
use testkit::smtp::Smtp;

const MAILS: usize = 20;

/// Starts a server that logs to `log`.
fn logging_to(data_dir: &std::path::Path, log: impl Into<Stdio>) -> Server {
    let mut serve = serve(data_dir);
    serve
        .args(["--metrics-listen", "127.0.0.1:0"])
        .env("RESTANTE_LOG", "info")
        .stderr(log);
    Server::spawn(&mut serve)
}

/// Sends mail and has recipients refused; every command must get its reply. The server then stops
/// gracefully.
fn assert_serves(server: Server) {
    let key = server.made_key().unwrap().to_owned();
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    for number in 0..MAILS {
        smtp.say("MAIL FROM:<app@example.com>").unwrap();
        assert!(
            smtp.say("RCPT TO:<a@elsewhere.example>")
                .unwrap()
                .starts_with("550")
        );
        smtp.say("RSET").unwrap();
        let reply = smtp
            .send("log@restante.example.com", &number.to_string(), "text")
            .unwrap();
        assert!(reply.starts_with("250"), "{reply}");
    }
    assert_eq!(
        server.run_cli(&key, ["messages", "log"]).lines().count(),
        MAILS
    );
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn a_log_whose_reader_has_exited_blocks_nothing() {
    let data_dir = tempfile::tempdir().unwrap();
    let mut server = logging_to(data_dir.path(), Stdio::piped());
    server.close_log();
    assert_serves(server);
}

#[test]
fn a_log_without_a_reader_delays_nothing() {
    let data_dir = tempfile::tempdir().unwrap();
    let (unread, log) = std::io::pipe().unwrap();
    let mut filling = log.try_clone().unwrap();
    // Keeps the pipe full until the test drops the other end.
    let filler = thread::spawn(move || while filling.write_all(&[b'x'; 4096]).is_ok() {});
    assert_serves(logging_to(data_dir.path(), log));
    drop(unread);
    filler.join().unwrap();
}

#[test]
fn a_log_on_a_full_disk_holds_nothing_up() {
    let data_dir = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let server = logging_to(data_dir.path(), full);
    let monitor = monitor_of(&server);
    let reply = Smtp::connect(&server.smtp)
        .unwrap()
        .send("log@restante.example.com", "first", "text")
        .unwrap();
    assert!(reply.starts_with("250"), "{reply}");
    while value(
        &get(&monitor, "/metrics").1,
        "restante_log_lines_dropped_total",
    ) < 1.0
    {}
    drop(server);
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_serves(logging_to(tempfile::tempdir().unwrap().path(), full));
}

#[test]
fn repeated_refusals_of_one_client_are_summed_up() {
    const REFUSED: usize = 2_000;
    let data_dir = tempfile::tempdir().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = logging_to(data_dir.path(), log.reopen().unwrap());
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    smtp.say("MAIL FROM:<app@example.com>").unwrap();
    for _ in 0..REFUSED {
        assert!(
            smtp.say("RCPT TO:<a@elsewhere.example>")
                .unwrap()
                .starts_with("550")
        );
    }
    server.signal("TERM");
    assert!(server.wait().success());
    let log = fs::read_to_string(log.path()).unwrap();
    let lines = log
        .lines()
        .filter(|line| line.contains("path refused"))
        .count();
    let summed = log.lines().filter_map(|line| {
        line.split_once(" more rejections of 127.0.0.1 in")?
            .0
            .rsplit(' ')
            .next()
    });
    let summed: usize = summed.map(|number| number.parse::<usize>().unwrap()).sum();
    assert_eq!(lines + summed, REFUSED, "{log}");
    assert!(lines <= REFUSED / 10, "{lines} lines");
}
