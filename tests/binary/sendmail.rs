//! `restante sendmail`, as PHP and cron call it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};

use serde_json::Value;

use testkit::server::{Server, command, first_start};

/// Runs `restante sendmail` with a message on its standard input.
fn sendmail(smtp: &str, arguments: &[&str], message: &str) -> Output {
    let mut sendmail = command(["sendmail"]);
    sendmail
        .args(arguments)
        .env("RESTANTE_SMTP", smtp)
        .stdin(Stdio::piped());
    let mut child = sendmail
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may refuse its flags before it reads the message.
    let _ = child.stdin.take().unwrap().write_all(message.as_bytes());
    child.wait_with_output().unwrap()
}

fn message(server: &Server, key: &str, inbox: &str) -> Value {
    serde_json::from_str(&server.run_cli(key, ["wait", inbox, "--json", "--timeout", "20"]))
        .unwrap()
}

#[test]
fn a_message_reaches_the_recipients_named_and_those_of_its_headers() {
    let (_data_dir, server, key) = first_start();
    let text = "From: App <app@shop.example>\nTo: \"One\" <one@restante.example.com>,\n two@restante.example.com\n\
                Cc: three@restante.example.com\nBcc: four@restante.example.com\nSubject: Hello\n\n\
                Your code is 482913.\n.\nnot the end\n";
    let sent = sendmail(
        &server.smtp,
        &["-t", "-i", "five@restante.example.com"],
        text,
    );
    assert_eq!(
        (sent.status.code(), sent.stdout.len(), sent.stderr.len()),
        (Some(0), 0, 0),
        "{sent:?}"
    );
    for inbox in ["one", "two", "three", "four", "five"] {
        let message = message(&server, &key, inbox);
        assert_eq!(message["from"], "app@shop.example");
        assert_eq!(message["otp"], "482913");
        assert!(
            message["text"]
                .as_str()
                .unwrap()
                .ends_with("\n.\nnot the end"),
            "{message}"
        );
        assert!(!message.to_string().contains("four@restante.example.com") || inbox == "four");
    }
}

#[test]
fn the_options_of_php_and_cron_are_understood() {
    let (_data_dir, server, key) = first_start();
    // PHP: sendmail_path = "restante sendmail -t -i", and the fifth argument of mail().
    let sent = sendmail(
        &server.smtp,
        &["-t", "-i", "-fbounce@shop.example"],
        "To: php@restante.example.com\nSubject: a\n\nb\n",
    );
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    assert_eq!(message(&server, &key, "php")["subject"], "a");
    let cron = [
        "-FCronDaemon",
        "-i",
        "-B8BITMIME",
        "-oem",
        "-odi",
        "cron@restante.example.com",
    ];
    let sent = sendmail(
        &server.smtp,
        &cron,
        "From: root@host\nSubject: Cron <root@host> backup\n\nfailed, grün\n",
    );
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    assert_eq!(message(&server, &key, "cron")["text"], "failed, grün");
}

#[test]
fn a_single_dot_ends_the_message_unless_i_is_set() {
    let (_data_dir, server, key) = first_start();
    let text = "Subject: a\n\nfirst\n.\nsecond\n";
    assert!(
        sendmail(&server.smtp, &["short@restante.example.com"], text)
            .status
            .success()
    );
    assert!(
        sendmail(&server.smtp, &["-oi", "long@restante.example.com"], text)
            .status
            .success()
    );
    assert_eq!(message(&server, &key, "short")["text"], "first");
    assert_eq!(message(&server, &key, "long")["text"], "first\n.\nsecond");
}

#[test]
fn the_exit_codes_are_sendmail_s() {
    let (_data_dir, server, _key) = first_start();
    let text = "To: \nSubject: a\n\nb\n";
    for (smtp, arguments, code, says) in [
        (server.smtp.as_str(), &["-t"][..], 64, "no recipient"),
        (server.smtp.as_str(), &["--nonsense"], 64, "--nonsense"),
        (
            server.smtp.as_str(),
            &["a@restante.example.com>\r\nRSET"],
            64,
            "invalid address",
        ),
        (
            server.smtp.as_str(),
            &["a@elsewhere.example"],
            69,
            "relay not permitted. Not accepted for: a@elsewhere.example. A server accepts mail for its own domain",
        ),
        (
            server.smtp.as_str(),
            &["ok@restante.example.com", "a@elsewhere.example"],
            69,
            "relay not permitted",
        ),
        (
            "127.0.0.1:1",
            &["a@restante.example.com"],
            75,
            "cannot connect",
        ),
    ] {
        let sent = sendmail(smtp, arguments, text);
        let said = String::from_utf8(sent.stderr).unwrap();
        assert_eq!(sent.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_short_message_is_delivered_whatever_its_header() {
    let (_data_dir, server, key) = first_start();
    let bodies = [
        "word",
        "word\n",
        "\nword",
        "\n\nword\n",
        "word word\nword",
        ": word",
        "From:\n\nword",
        "\0word",
    ];
    let others = [
        "",
        "\n",
        "\r\n\r\n",
        " ",
        " word",
        "From",
        "From:",
        "Subject\n\n",
        ":\nword",
        "a:",
        "é",
    ];
    for (number, text) in bodies.iter().chain(&others).enumerate() {
        let inbox = format!("short{number}");
        let sent = sendmail(
            &server.smtp,
            &["-i", &format!("{inbox}@restante.example.com")],
            text,
        );
        assert_eq!(sent.status.code(), Some(0), "{text:?}: {sent:?}");
        let message = message(&server, &key, &inbox);
        if number < bodies.len() {
            assert!(
                message["text"].as_str().unwrap().contains("word"),
                "{text:?}: {message}"
            );
        }
        // With -t, it has no recipient.
        let sent = sendmail(&server.smtp, &["-t", "-i"], text);
        assert_eq!(sent.status.code(), Some(64), "{text:?}: {sent:?}");
    }
}

#[test]
fn many_recipients_are_divided_into_transactions_and_the_missing_ones_are_named() {
    let (_data_dir, server, key) = first_start();
    let list = |bad: &str| {
        let all: Vec<String> = (0..300)
            .map(|number| format!("r{number:03}@restante.example.com"))
            .collect();
        format!(
            "From: a@shop.example\nTo: {}{bad}\nSubject: many\n\ntext\n",
            all.join(",\n ")
        )
    };
    let sent = sendmail(&server.smtp, &["-t"], &list(""));
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    for inbox in ["r000", "r099", "r100", "r299"] {
        assert_eq!(message(&server, &key, inbox)["subject"], "many");
    }
    let sent = sendmail(&server.smtp, &["-t"], &list(",\n r150@elsewhere.example"));
    let said = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(sent.status.code(), Some(69), "{said}");
    assert!(
        said.contains(
            "accepted for 100 of 301 recipients, but not for: r100@restante.example.com, r101@"
        ),
        "{said}"
    );
    assert!(
        said.contains("r150@elsewhere.example") && !said.contains("r099@"),
        "{said}"
    );
}

#[test]
fn with_bs_the_caller_speaks_smtp_itself() {
    let (_data_dir, server, key) = first_start();
    // As Symfony Mailer does with its default, `sendmail -bs`.
    let mut sendmail = command(["sendmail", "-bs"]);
    sendmail
        .env("RESTANTE_SMTP", &server.smtp)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = sendmail.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut reply = || {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "no reply");
            if line.as_bytes()[3] == b' ' {
                return line[..3].to_owned();
            }
        }
    };
    assert_eq!(reply(), "220");
    for (line, code) in [
        ("EHLO localhost", "250"),
        ("MAIL FROM:<app@shop.example>", "250"),
        ("RCPT TO:<symfony@restante.example.com>", "250"),
        ("DATA", "354"),
        ("Subject: Hello\r\n\r\nYour code is 482913.\r\n.", "250"),
        ("QUIT", "221"),
    ] {
        input.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        assert_eq!(reply(), code, "{line}");
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(message(&server, &key, "symfony")["otp"], "482913");
}

#[test]
fn the_modes_are_those_of_sendmail() {
    let (_data_dir, server, key) = first_start();
    let sent = sendmail(
        &server.smtp,
        &["-bm", "-i", "bm@restante.example.com"],
        "Subject: a\n\nb\n",
    );
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    assert_eq!(message(&server, &key, "bm")["subject"], "a");
    let unreachable = sendmail("127.0.0.1:1", &["-bs"], "");
    let said = String::from_utf8(unreachable.stderr).unwrap();
    assert!(
        unreachable.status.code() == Some(75) && said.contains("start `restante serve`"),
        "{said}"
    );
    assert_eq!(sendmail(&server.smtp, &["-bp"], "").status.code(), Some(64));
}
