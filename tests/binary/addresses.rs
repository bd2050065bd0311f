//! `--accept-domains`: the start, the log, and mail to a domain of the application's own.

use std::fs;

use testkit::server::{Server, command, failed, printed, serve};
use testkit::smtp::Smtp;

/// Starts a server with these flags, and returns it with its log.
fn start(flags: &[&str]) -> (Server, tempfile::TempDir, tempfile::NamedTempFile) {
    let data_dir = tempfile::tempdir().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut serve = serve(data_dir.path());
    serve
        .args(flags)
        .env("RESTANTE_LOG", "info")
        .stderr(log.reopen().unwrap());
    (Server::spawn(&mut serve), data_dir, log)
}

/// Stops a server and returns its log.
fn log_of(server: Server, log: &tempfile::NamedTempFile) -> String {
    server.signal("TERM");
    assert!(server.wait().success());
    fs::read_to_string(log.path()).unwrap()
}

#[test]
fn mail_to_an_accepted_domain_is_received() {
    let (server, data_dir, _log) = start(&["--accept-domains", "example.com,*.shop.test"]);
    assert!(
        server
            .greeting
            .contains("Also accepts mail for example.com, *.shop.test"),
        "{}",
        server.greeting
    );
    let key = server.made_key().unwrap().to_owned();
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    assert!(
        smtp.send("Ada@example.com", "Welcome", "text")
            .unwrap()
            .starts_with("250")
    );
    assert!(
        server
            .run_cli(&key, ["messages", "ada@example.com"])
            .ends_with("\tWelcome")
    );
    let explained = server.run_cli(&key, ["explain", "ada@example.com", "--subject", "x"]);
    assert!(explained.contains("\"Welcome\" from"), "{explained}");
    assert!(
        server
            .run_cli(&key, ["inbox", "list"])
            .trim_end()
            .ends_with("\tada@example.com")
    );
    let directory = data_dir.path().to_str().unwrap();
    let local = printed(&mut command(["inbox", "list", "--data-dir", directory]));
    assert!(local.trim_end().ends_with("\tada@example.com"), "{local}");
    let local = printed(&mut command([
        "inbox",
        "list",
        "--data-dir",
        directory,
        "--json",
    ]));
    assert!(
        local.contains("\"address\": \"ada@example.com\"")
            || local.contains("\"address\":\"ada@example.com\"")
    );
}

#[test]
fn a_refused_domain_is_logged_with_the_flag() {
    let (server, _data_dir, log) = start(&["--accept-domains", "*.shop.test"]);
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    smtp.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        smtp.say("RCPT TO:<ada@shop.test>")
            .unwrap()
            .starts_with("550 5.7.1 relay not permitted")
    );
    let log = log_of(server, &log);
    let line = log
        .lines()
        .find(|line| line.contains("path refused"))
        .unwrap();
    assert!(
        line.contains("--accept-domains *.shop.test,shop.test"),
        "{line}"
    );
}

#[test]
fn every_domain_on_a_public_listener_is_warned_of_once() {
    let warned = |flags: &[&str]| {
        let (server, _data_dir, log) = start(flags);
        log_of(server, &log)
            .matches("--accept-domains * accepts mail for every domain")
            .count()
    };
    assert_eq!(warned(&["--accept-domains", "*"]), 0);
    assert_eq!(
        warned(&["--accept-domains", "*", "--smtps-listen", "0.0.0.0:0"]),
        1
    );
    assert_eq!(
        warned(&[
            "--accept-domains",
            "example.com",
            "--smtps-listen",
            "0.0.0.0:0"
        ]),
        0
    );
}

#[test]
fn every_domain_and_sending_to_other_domains_exclude_each_other() {
    let data_dir = tempfile::tempdir().unwrap();
    for flags in [["--outbound", "direct"], ["--relay", "smtp://127.0.0.1:1"]] {
        let mut serve = command(["serve", "--accept-domains", "*", "--data-dir"]);
        let (_, error) = failed(serve.arg(data_dir.path()).args(flags));
        assert!(
            error.contains("--accept-domains: every domain is accepted"),
            "{error}"
        );
    }
}
