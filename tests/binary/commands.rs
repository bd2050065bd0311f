//! The commands for people and shell scripts: `send`, `message`, `open`, lists as JSON, and what an
//! error names.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use testkit::server::{command, failed, first_start, printed};
use testkit::smtp::{Smtp, deliver};

const MULTIPART: &str = "From: shop@example.com\r\nSubject: Invoice\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>See <b>it</b></p>\r\n\
    --b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\
    Content-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--b--";

/// Delivers a whole message, with its headers.
fn deliver_raw(smtp: &str, to: &str, message: &str) {
    let mut client = Smtp::connect(smtp).unwrap();
    client.say("MAIL FROM:<shop@example.com>").unwrap();
    client.say(&format!("RCPT TO:<{to}>")).unwrap();
    client.say("DATA").unwrap();
    assert!(
        client
            .say(&format!("{message}\r\n."))
            .unwrap()
            .starts_with("250")
    );
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_message_is_sent_and_every_part_of_it_can_be_printed() {
    let (_data_dir, server, key) = first_start();
    let [one, other] = [(); 2].map(|()| server.run_cli(&key, ["inbox", "create"]));
    let sent = [
        "send",
        &one,
        "--to",
        &other,
        "--subject",
        "Hello",
        "--text",
        "Your code is 482913.",
    ];
    let id = server.run_cli(&key, sent);
    assert_eq!(id.len(), 36, "{id}");
    assert!(
        server
            .run_cli(&key, ["message", &other])
            .contains("Code:     482913")
    );

    let mut piped = server.client(
        &key,
        ["send", &one, "--to", &other, "--subject", "Piped", "--json"],
    );
    let mut child = piped
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all("from the pipe: grün\n".as_bytes())
        .unwrap();
    let accepted = json(&String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap());
    assert_eq!(accepted["status"], "queued");
    let shown = json(&server.run_cli(&key, ["message", &other, "--json"]));
    assert_eq!(
        (shown["subject"].as_str(), shown["text"].as_str()),
        (Some("Piped"), Some("from the pipe: grün"))
    );

    deliver_raw(&server.smtp, &other, MULTIPART);
    let readable = server.run_cli(&key, ["message", &other]);
    assert!(
        readable.contains("See it")
            && readable.ends_with("Attachment 0: a.pdf (application/pdf, 4 bytes)")
    );
    assert_eq!(
        server.run_cli(&key, ["message", &other, "--html"]),
        "<p>See <b>it</b></p>"
    );
    assert_eq!(
        server.run_cli(&key, ["message", &other, "--attachment", "0"]),
        "%PDF"
    );
    assert!(
        server
            .run_cli(&key, ["message", &other, "--source"])
            .ends_with(MULTIPART)
    );
    // An id of the list, and a filter.
    let oldest = server
        .run_cli(&key, ["messages", &other])
        .lines()
        .last()
        .unwrap()[..36]
        .to_owned();
    assert!(
        server
            .run_cli(&key, ["message", &oldest])
            .contains("Subject:  Hello")
    );
    assert!(
        server
            .run_cli(&key, ["message", &other, "--subject", "hello"])
            .contains("Subject:  Hello")
    );
}

#[test]
fn a_message_that_is_not_there_is_explained() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server.smtp, &address, "Welcome", "text");
    let unknown = "01936b0e-0000-7000-8000-000000000000";
    for (arguments, code, says) in [
        (
            &["message", &address, "--subject", "order"][..],
            1,
            "Expected subject \"order\"; arrived: \"Welcome\" from",
        ),
        (&["message", unknown], 2, "there is no message 01936b0e"),
        (&["message", "nobody"], 2, "there is no inbox nobody"),
        (
            &["message", &address, "--attachment", "0"],
            2,
            "has no attachment 0",
        ),
        (
            &["message", &address, "--attachment", "x"],
            2,
            "'--attachment <N>'",
        ),
        (
            &["wait", &address, "--otp", "--timeout", "0"],
            1,
            "Expected a one-time code; arrived: \"Welcome\"",
        ),
        (
            &["wait", &address, "--link", "x", "--timeout", "0"],
            1,
            "Expected a link; arrived: \"Welcome\"",
        ),
        (&["wait", &address, "--has", "codes"], 2, "'--has <WHAT>'"),
        (
            &["fault", &address, "defer", "--times", "0"],
            2,
            "0 is not in 1..=1000",
        ),
        (
            &["fault", &address, "delay", "--seconds", "301"],
            2,
            "301 is not in 1..=300",
        ),
        (&["fault", &address, "delay"], 2, "--seconds <SECONDS>"),
        (
            &["fault", &address, "bounce", "--at", "rcpt"],
            2,
            "--at: bounce, drop, duplicate",
        ),
        (
            &["fault", &address, "defer", "--reply", "250 2.0.0 fine"],
            2,
            "--reply: write one line",
        ),
        (&["send", &address, "--subject", "x"], 2, "--to <ADDRESS>"),
        (
            &["inbox", "list", "--project", "x"],
            2,
            "--project: over HTTP",
        ),
    ] {
        let (found, said) = failed(&mut server.client(&key, arguments.iter().copied()));
        assert!(
            found == code && said.contains(says),
            "{arguments:?}: {found} {said}"
        );
    }
}

#[test]
fn every_list_is_also_json() {
    let (data_dir, server, key) = first_start();
    let directory = data_dir.path().to_str().unwrap();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server.smtp, &address, "Welcome", "text");
    let over_http = json(&server.run_cli(&key, ["inbox", "list", "--json"]));
    let first = &over_http["inboxes"][0];
    assert_eq!(
        (first["address"].as_str(), first["messages"].as_i64()),
        (Some(address.as_str()), Some(1))
    );
    let local = json(&printed(&mut command([
        "inbox",
        "list",
        "--data-dir",
        directory,
        "--json",
    ])));
    assert_eq!(local["inboxes"][0]["id"], over_http["inboxes"][0]["id"]);
    let both = [
        server.run_cli(&key, ["inbox", "list"]),
        printed(&mut command(["inbox", "list", "--data-dir", directory])),
    ];
    // The database does not have the mail domain.
    assert_eq!(
        both[0].trim_end(),
        format!("{}@restante.example.com", both[1].trim_end())
    );
    let projects = json(&printed(&mut command([
        "project",
        "list",
        "--json",
        "--data-dir",
        directory,
    ])));
    let first = &projects["projects"][0];
    assert_eq!(
        (first["name"].as_str(), first["is_default"].as_bool()),
        (Some("default"), Some(true))
    );
    let outgoing = json(&printed(&mut command([
        "outgoing",
        "list",
        "--json",
        "--data-dir",
        directory,
    ])));
    assert_eq!(outgoing, serde_json::json!({"outgoing": []}));
}

#[test]
fn a_variable_does_not_change_what_a_command_does() {
    let (_data_dir, server, key) = first_start();
    let mut create = server.client(&key, ["inbox", "create"]);
    let address = printed(create.env("RESTANTE_JSON", "true"));
    assert!(address.ends_with("@restante.example.com"), "{address}");
    deliver(&server.smtp, &address, "Welcome", "text");
    let mut list = server.client(&key, ["messages", &address]);
    assert!(
        printed(
            list.env("RESTANTE_FROM", "sqlite:old.db")
                .env("RESTANTE_SUBJECT", "x")
        )
        .contains("Welcome")
    );
}

#[test]
fn a_mistyped_directory_gets_no_database() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("typo");
    for arguments in [
        &["migrate"][..],
        &["inbox", "list"],
        &["project", "list"],
        &["outgoing", "list"],
    ] {
        let (code, said) = failed(command(arguments.iter()).arg("--data-dir").arg(&directory));
        assert!(
            code == 1 && said.contains("there is no database at"),
            "{arguments:?}: {code} {said}"
        );
        assert!(!directory.exists(), "{arguments:?}");
    }
}

#[test]
fn the_dashboard_opens_in_the_browser_or_its_address_is_printed() {
    let (_data_dir, server, _key) = first_start();
    let open = || {
        let mut open = command(["open"]);
        open.env("RESTANTE_URL", &server.url);
        open
    };
    // Browsers send cookies of 127.0.0.1 to each of its ports.
    let page = format!("{}/", server.url.replace("127.0.0.1", "restante.localhost"));
    assert_eq!(printed(&mut open()), page);
    assert_eq!(
        printed(open().env("DISPLAY", ":0").env("PATH", "/nonexistent")),
        page
    );

    let bin = tempfile::tempdir().unwrap();
    let opener = bin.path().join("xdg-open");
    fs::write(&opener, "#!/bin/sh\necho \"$@\" > \"$OPENED\"\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let opened = bin.path().join("opened");
    assert_eq!(
        printed(
            open()
                .env("DISPLAY", ":0")
                .env("PATH", bin.path())
                .env("OPENED", &opened)
        ),
        ""
    );
    assert_eq!(fs::read_to_string(opened).unwrap(), format!("{page}\n"));
}

#[test]
fn an_address_of_ones_own_is_created_or_the_server_is_said_to_be_too_old() {
    let (_data_dir, server, key) = first_start();
    let wait = |arguments: &[&str]| {
        server
            .client(&key, arguments.iter().copied())
            .output()
            .unwrap()
    };
    let address = "ada@restante.example.com";
    let created = wait(&["inbox", "create", address]);
    let said = String::from_utf8_lossy(&created.stderr).into_owned();
    if created.status.success() {
        assert_eq!(created.stdout, format!("{address}\n").into_bytes());
        // A wait may come before the first mail.
        let early = wait(&["wait", "grace@restante.example.com", "--timeout", "0"]);
        assert_eq!(early.status.code(), Some(1), "{early:?}");
        assert!(server.run_cli(&key, ["inbox", "list"]).contains("grace"));
    } else {
        assert!(
            created.status.code() == Some(2) && said.contains("another version"),
            "{said}"
        );
        let early = wait(&["wait", "grace@restante.example.com", "--timeout", "0"]);
        assert!(
            String::from_utf8_lossy(&early.stderr).contains("restante inbox create"),
            "{early:?}"
        );
    }
}
