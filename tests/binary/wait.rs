//! `restante wait`.

use std::process::Stdio;

use serde_json::Value;

use testkit::http;
use testkit::port::ReservedPort;
use testkit::server::{Server, command, failed, first_start};
use testkit::smtp::{Smtp, deliver};

use super::metrics::until_shown;

#[test]
fn a_wait_that_was_open_before_the_mail_ends_with_it() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let wait = server
        .client(&key, ["wait", &address, "--otp"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    deliver(&server.smtp, &address, "Sign in", "Your code is 482913.");
    let output = wait.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"482913\n");
}

#[test]
fn a_wait_continues_through_a_restart() {
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
    let address = server.run_cli(&key, ["inbox", "create"]);
    let wait = ["wait", &address, "--otp", "--timeout", "120"];
    let wait = server
        .client(&key, wait)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    until_shown(&server, "restante_waits_open 1");
    server.kill();
    let server = serve();
    until_shown(&server, "restante_waits_open 1");
    deliver(&server.smtp, &address, "Sign in", "Your code is 482913.");
    assert_eq!(wait.wait_with_output().unwrap().stdout, b"482913\n");
}

#[test]
fn a_message_is_printed_for_a_person() {
    let (_data_dir, server, key) = first_start();
    deliver(
        &server.smtp,
        "reader@restante.example.com",
        "Welcome",
        "Your code is 482913.\r\nhttps://shop.example/confirm?t=1",
    );
    let printed = server.run_cli(&key, ["wait", "reader"]);
    for expected in [
        "From:     app@example.com",
        "To:       reader@restante.example.com",
        "Subject:  Welcome",
        "Code:     482913",
        "Link:     https://shop.example/confirm?t=1",
        "\nYour code is 482913.\nhttps://shop.example/confirm?t=1",
    ] {
        assert!(
            printed.contains(expected),
            "{expected:?} is not in:\n{printed}"
        );
    }
}

#[test]
fn a_message_without_the_wanted_part_is_skipped() {
    let (_data_dir, server, key) = first_start();
    deliver(
        &server.smtp,
        "patient@restante.example.com",
        "Welcome",
        "Nothing here but https://shop.example/terms",
    );
    deliver(
        &server.smtp,
        "patient@restante.example.com",
        "Confirm",
        "https://shop.example/confirm/7 or 482913",
    );
    assert_eq!(server.run_cli(&key, ["wait", "patient", "--otp"]), "482913");
    assert_eq!(
        server.run_cli(&key, ["wait", "patient", "--link", "/confirm/"]),
        "https://shop.example/confirm/7"
    );
    assert_eq!(
        server.run_cli(&key, ["wait", "patient", "--link", "."]),
        "https://shop.example/terms"
    );
}

#[test]
fn a_code_is_one_that_is_labelled_in_any_form() {
    let (_data_dir, server, key) = first_start();
    let inbox = "codes@restante.example.com";
    for text in ["We ship order 123456 today.", "Your code is R7KX2MQ9."] {
        deliver(&server.smtp, inbox, "Shop", text);
    }
    assert_eq!(server.run_cli(&key, ["wait", inbox, "--otp"]), "123456");
    assert_eq!(server.run_cli(&key, ["wait", inbox, "--code"]), "R7KX2MQ9");
    deliver(
        &server.smtp,
        inbox,
        "Both",
        "Your sign-in code is 482913.\r\n\r\nYour backup code is 771204.",
    );
    let (code, said) =
        failed(&mut server.client(&key, ["wait", inbox, "--code", "--subject", "both"]));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("several codes: 482913, 771204"), "{said}");
}

#[test]
fn after_and_subject_narrow_the_wait() {
    let (_data_dir, server, key) = first_start();
    for (subject, text) in [
        ("Sign in", "Code: 111111"),
        ("Invoice", "Code: 222222"),
        ("Sign in again", "Code: 333333"),
    ] {
        deliver(&server.smtp, "narrow@restante.example.com", subject, text);
    }
    let first: Value =
        serde_json::from_str(&server.run_cli(&key, ["wait", "narrow", "--json"])).unwrap();
    assert_eq!(first["otp"], "111111");
    let after = first["id"].as_str().unwrap();
    assert_eq!(
        server.run_cli(&key, ["wait", "narrow", "--otp", "--after", after]),
        "222222"
    );
    assert_eq!(
        server.run_cli(
            &key,
            [
                "wait",
                "narrow",
                "--otp",
                "--after",
                after,
                "--subject",
                "sign IN"
            ]
        ),
        "333333"
    );
}

#[test]
fn a_wait_without_a_match_lists_which_messages_arrived() {
    let (_data_dir, server, key) = first_start();
    deliver(
        &server.smtp,
        "wrong@restante.example.com",
        "Your invoice",
        "text",
    );
    let wait = [
        "wait",
        "wrong",
        "--subject",
        "welcome",
        "--otp",
        "--timeout",
        "1ms",
    ];
    let (code, said) = failed(&mut server.client(&key, wait));
    assert_eq!(code, 1, "{said}");
    for expected in [
        "one-time code",
        "welcome",
        "wrong@restante.example.com",
        "1ms",
        "Your invoice",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in: {said}");
    }
}

/// The command asks on after a message that it refuses: for the server, this is one wait.
#[test]
fn a_message_that_the_command_refuses_is_the_cause() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(
        &server.smtp,
        &address,
        "Terms",
        "https://shop.example/terms",
    );
    let wait = ["wait", &address, "--link", "/confirm/", "--timeout", "1s"];
    let (code, said) = failed(&mut server.client(&key, wait));
    assert_eq!(code, 1, "{said}");
    for expected in [
        "Expected link /confirm/; arrived: \"Terms\"",
        "not: the client's own filter",
        "Details: ",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in: {said}");
    }
    let (id, _) = address.split_once('@').unwrap();
    let events = http::get(format!("{}/v1/inboxes/{id}/events", server.url))
        .header("Authorization", format!("Bearer {key}"));
    let events = events.call().unwrap().into_body();
    assert_eq!(events.matches("wait_started").count(), 1, "{events}");
    assert_eq!(events.matches("wait_ended").count(), 1, "{events}");
}

#[test]
fn reading_an_empty_inbox_exits_with_1() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let (code, said) = failed(&mut server.client(&key, ["wait", &address, "--timeout", "0s"]));
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("Nothing has connected over SMTP since this inbox was created"),
        "{said}"
    );
}

#[test]
fn an_inbox_that_is_deleted_ends_the_wait_as_a_failure() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let wait = server
        .client(&key, ["wait", &address])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.run_cli(&key, ["inbox", "delete", &address]);
    let output = wait.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("was deleted")
    );
}

#[test]
fn a_timeout_is_a_number_of_seconds_or_has_a_unit() {
    let (_data_dir, server, key) = first_start();
    deliver(&server.smtp, "here@restante.example.com", "Hello", "text");
    for timeout in ["5", "5s", "500ms", "0"] {
        server.run_cli(&key, ["wait", "here", "--timeout", timeout]);
    }
    for timeout in ["", "5x", "-5", "s"] {
        let (code, said) =
            failed(&mut server.client(&key, ["wait", "here", &format!("--timeout={timeout}")]));
        assert_eq!((code, said.contains("--timeout")), (2, true), "{said}");
    }
}

#[test]
fn a_mistyped_address_a_foreign_domain_and_a_bare_line_feed_are_explained() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let (id, _) = address.split_once('@').unwrap();
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    smtp.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        smtp.say(&format!("RCPT TO:<{id}@else.example>"))
            .unwrap()
            .starts_with("550 5.7.1")
    );
    smtp.say("RSET").unwrap();
    let explained = |expected: &str| {
        let (_, said) = failed(&mut server.client(&key, ["wait", &address, "--timeout", "0"]));
        assert!(said.contains(expected), "{expected:?} is not in: {said}");
    };
    explained(&format!("Mail to {id}@else.example was rejected"));
    assert!(
        smtp.send(&address, "bare", "a\nb")
            .unwrap()
            .starts_with("550 5.6.11")
    );
    explained("550 5.6.11");
    let other = server.run_cli(&key, ["inbox", "create"]);
    let typo = format!("x{other}");
    deliver(&server.smtp, &typo, "Welcome", "text");
    assert!(
        server
            .run_cli(&key, ["explain", &other])
            .contains("Is the address mistyped?")
    );
    server.run_cli(&key, ["inbox", "delete", &other]);
    assert!(
        server
            .run_cli(&key, ["explain", &other, "--json"])
            .contains("was deleted")
    );
    let (code, said) = failed(&mut server.client(&key, ["wait", &other]));
    assert!(code == 2 && said.contains("was deleted"), "{code} {said}");
    let (_, said) = failed(&mut server.client(&key, ["wait", &address, "--timeout", "soon"]));
    assert!(said.contains("write a time such as 30s"), "{said}");
    let (_, said) = failed(&mut server.client(&key, ["outgoing", "show", "foo"]));
    assert!(said.contains("restante outgoing list"), "{said}");
}
