//! `restante serve --for-tests`: its settings, what it leaves behind, and how it is shared.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testkit::server::{command, failed, printed};
use testkit::smtp::Smtp;

/// What a server may take to end after its last owner.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A directory for temporary files, in which a test looks for what is left.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = command(["serve", "--for-tests"]);
        command.args(flags).env("TMPDIR", self.0.path());
        command
    }

    fn start(&self, flags: &[&str]) -> Started {
        Started::from(self.command(flags))
    }

    /// What the directory of the user has beside its lock.
    fn left(&self) -> Vec<PathBuf> {
        let user = fs::read_dir(self.0.path()).unwrap().next();
        let user = user.expect("a directory of the user").unwrap().path();
        let all = fs::read_dir(user)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        all.filter(|path| !path.ends_with("lock")).collect()
    }
}

/// A process that has printed its line, whose standard input is open.
struct Started {
    process: Child,
    line: String,
}

impl Started {
    fn from(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self { process, line }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line).unwrap()
    }

    fn text(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap().to_owned()
    }

    fn smtp(&self) -> String {
        let smtp = &self.json()["smtp"];
        format!("{}:{}", smtp["host"].as_str().unwrap(), smtp["port"])
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Whether the process goes on; one that has ended may wait for its parent to ask for its status.
fn is_running(process: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn soon(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < ENDS_WITHIN,
            "not within {ENDS_WITHIN:?}: {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn it_accepts_every_domain_without_tls_and_sends_nothing() {
    let server = Machine::new();
    let server = server.start(&[]);
    let mut smtp = Smtp::connect(&server.smtp()).unwrap();
    let offered = smtp.say("EHLO application").unwrap();
    assert!(
        !offered.contains("STARTTLS") && offered.contains("AUTH"),
        "{offered}"
    );
    for (command, reply) in [
        ("MAIL FROM:<shop@shop.test>", "250"),
        ("RCPT TO:<ada@anything.example>", "250"),
    ] {
        assert!(smtp.say(command).unwrap().starts_with(reply), "{command}");
    }
    let client = |arguments: &[&str]| {
        let mut command = command(arguments);
        command
            .env("RESTANTE_URL", server.text("url"))
            .env("RESTANTE_API_KEY", server.text("api_key"));
        command
    };
    let inbox = printed(&mut client(&["inbox", "create"]));
    let send = [
        "send",
        &inbox,
        "--to",
        "ada@other.example",
        "--subject",
        "x",
        "--text",
        "x",
    ];
    let (_, refused) = failed(&mut client(&send));
    assert!(refused.contains("recipient not found"), "{refused}");
    server.end();
}

#[test]
fn only_named_variables_count() {
    let machine = Machine::new();
    let mut command = machine.command(&[]);
    command
        .env("RESTANTE_DATA_DIR", "/dev/null/no")
        .env("RESTANTE_DATABASE", "postgres://nobody@127.0.0.1:1/none")
        .env("RESTANTE_BASE_URL", "http://elsewhere.example")
        .env("RESTANTE_MAX_INBOXES", "none")
        .env("RESTANTE_MAIL_DOMAIN", "shop.test");
    let server = Started::from(command);
    assert_eq!(server.text("mail_domain"), "shop.test");
    assert!(server.text("url").starts_with("http://127.0.0.1:"));
    server.end();
}

#[test]
fn where_other_hosts_can_reach_it_mailpits_api_needs_a_key() {
    let machine = Machine::new();
    let server = machine.start(&[
        "--http-listen",
        "0.0.0.0:0",
        "--mailpit-listen",
        "127.0.0.1:0",
    ]);
    let url = format!("{}/api/v1/messages", server.text("mailpit_url"));
    let status = printed(Command::new("curl").args([
        "--silent",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        &url,
    ]));
    assert_eq!(status, "401");
    server.end();
}

#[test]
fn it_ends_with_standard_input_and_leaves_nothing() {
    let machine = Machine::new();
    let server = machine.start(&[]);
    assert!(Path::new(&server.text("log")).exists());
    // Ctrl-C goes to all processes of a terminal, and a runner that cleans up still needs it.
    signal(server.process.id(), "INT");
    let health = format!("{}/health", server.text("url"));
    printed(Command::new("curl").args(["--silent", "--fail", &health]));
    server.end();
    assert_eq!(machine.left(), Vec::<PathBuf>::new());
}

#[test]
fn the_next_start_removes_what_a_killed_one_has_left() {
    let machine = Machine::new();
    machine.start(&[]).kill();
    let shared = machine.start(&["--shared", "a"]);
    let server = shared.json()["pid"].as_u64().unwrap();
    signal(server.try_into().unwrap(), "KILL");
    soon("the end of the server", || !is_running(server));
    assert_eq!(machine.left().len(), 2);
    machine.start(&[]).end();
    assert_eq!(machine.left(), Vec::<PathBuf>::new());
    let again = machine.start(&["--shared", "a"]);
    assert_ne!(again.line, shared.line);
    again.end();
    shared.end();
}

#[test]
fn what_is_wrong_is_said_by_the_call() {
    let machine = Machine::new();
    let taken = machine.start(&[]);
    let smtp = taken.smtp();
    for flags in [
        &["--smtp-listen", &smtp][..],
        &["--smtp-listen", &smtp, "--shared", "a"],
    ] {
        let (code, error) = failed(&mut machine.command(flags));
        assert!(code == 1 && error.contains("--smtp-listen"), "{error}");
        assert_eq!(error.matches("restante:").count(), 1, "{error}");
    }
    let (code, error) = failed(&mut machine.command(&["--shared", "../a"]));
    assert!(code == 2 && error.contains("letters, digits"), "{error}");
    taken.end();
    machine.start(&[]).end();
    assert_eq!(machine.left(), Vec::<PathBuf>::new());
}

#[test]
fn forty_owners_share_one_server_which_ends_with_the_last() {
    let machine = Machine::new();
    let owners: Vec<Started> = thread::scope(|scope| {
        let starts: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| machine.start(&["--shared", "run-7"])))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    let server = owners[0].json()["pid"].as_u64().unwrap();
    let other = machine.start(&["--shared", "run-8"]);
    assert_ne!(other.line, owners[0].line);
    other.end();
    for (number, owner) in owners.into_iter().enumerate() {
        assert_eq!(owner.json()["pid"], server);
        assert!(is_running(server), "ended before owner {number}");
        match number % 3 {
            0 => owner.kill(),
            1 => owner.end(),
            // Another one comes at the same moment.
            _ => thread::scope(|scope| {
                scope.spawn(|| machine.start(&["--shared", "run-7"]).end());
                owner.kill();
            }),
        }
    }
    soon("the end of the server", || !is_running(server));
    soon("the removal of its files", || machine.left().is_empty());
}

/// Owners come and go, so that some come just when the server ends.
#[test]
fn an_owner_always_has_a_server() {
    let machine = Machine::new();
    thread::scope(|scope| {
        for worker in 0..4_u64 {
            let machine = &machine;
            scope.spawn(move || {
                for round in 0..6_u64 {
                    let owner = machine.start(&["--shared", "run"]);
                    let health = format!("{}/health", owner.text("url"));
                    printed(Command::new("curl").args(["--silent", "--fail", &health]));
                    owner.kill();
                    // Around the interval at which a server looks for its owners.
                    thread::sleep(Duration::from_millis(worker * 61 + round * 97));
                }
            });
        }
    });
    soon("the removal of its files", || machine.left().is_empty());
}

#[test]
fn a_process_can_own_it_without_holding_a_pipe() {
    let machine = Machine::new();
    let mut owner = Command::new("sleep").arg("600").spawn().unwrap();
    let flags = ["--shared", "run", "--owner", &owner.id().to_string()];
    let line = printed(machine.command(&flags).stdin(Stdio::null()));
    let server: Value = serde_json::from_str(&line).unwrap();
    let server = server["pid"].as_u64().unwrap();
    assert_eq!(printed(&mut machine.command(&flags)), line);
    assert!(is_running(server));
    // Its parent has not asked for its status yet, so its entry stays.
    owner.kill().unwrap();
    soon("the end of the server", || !is_running(server));
    soon("the removal of its files", || machine.left().is_empty());
    owner.wait().unwrap();
}

#[test]
fn a_server_whose_files_were_removed_ends_too() {
    let machine = Machine::new();
    let owner = machine.start(&["--shared", "run"]);
    let server = owner.json()["pid"].as_u64().unwrap();
    drop(machine);
    owner.end();
    soon("the end of the server", || !is_running(server));
}

#[test]
fn ctrl_c_does_not_end_ownership() {
    let machine = Machine::new();
    let mut owner = machine.start(&["--shared", "run"]);
    signal(owner.process.id(), "INT");
    assert_eq!(machine.start(&["--shared", "run"]).line, owner.line);
    assert!(owner.process.try_wait().unwrap().is_none());
    owner.end();
}

#[test]
fn a_directory_of_another_user_is_not_trusted() {
    let machine = Machine::new();
    machine.start(&[]).end();
    let user = fs::read_dir(machine.0.path()).unwrap().next().unwrap();
    let user = user.unwrap().path();
    fs::remove_dir_all(&user).unwrap();
    std::os::unix::fs::symlink("/", &user).unwrap();
    let mut process = machine
        .command(&[])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut error = String::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    assert!(!process.wait().unwrap().success());
    assert!(error.contains("TMPDIR"), "{error}");
}
