//! `restante inbox` and `restante messages`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::thread;

use serde_json::Value;

use testkit::server::{command, failed, first_start};
use testkit::smtp::deliver;

#[test]
fn an_inbox_is_created_shown_and_deleted() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let (id, domain) = address.split_once('@').unwrap();
    assert_eq!(domain, "restante.example.com");

    assert!(
        server
            .run_cli(&key, ["inbox", "get", id])
            .contains(&address)
    );
    let shown: Value = serde_json::from_str(
        &server.run_cli(&key, ["inbox", "get", &address.to_uppercase(), "--json"]),
    )
    .unwrap();
    assert_eq!(shown["id"], id);
    assert_eq!(shown["address"], address);
    assert_eq!(shown["kind"], "temporary");
    assert!(shown["expires_at"].as_str() > shown["created_at"].as_str());

    assert_eq!(server.run_cli(&key, ["inbox", "delete", &address]), "");
    assert_eq!(failed(&mut server.client(&key, ["inbox", "get", id])).0, 2);
}

#[test]
fn a_server_elsewhere_is_reached_through_the_proxy_of_the_environment() {
    let (_data_dir, server, key) = first_start();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://user:word@{}", proxy.local_addr().unwrap());
    let http = server.url["http://".len()..].to_owned();
    let passing_on = thread::spawn(move || {
        let (mut client, _) = proxy.accept().unwrap();
        let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
        let head = lines.by_ref().map(Result::unwrap);
        let head: Vec<_> = head.take_while(|line| !line.is_empty()).collect();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut server = TcpStream::connect(http).unwrap();
        let (mut sent, mut back) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut sent, &mut server));
        // It ends when either side has ended.
        let _ = io::copy(&mut back, &mut client);
        head
    });
    let create = |url: &str| {
        let mut create = command(["inbox", "create"]);
        create
            .env("RESTANTE_URL", url)
            .env("RESTANTE_API_KEY", &key);
        create
            .env("HTTP_PROXY", &address)
            .env("http_proxy", &address);
        create.output().unwrap()
    };
    // No proxy is asked for a server on this machine.
    assert!(create(&server.url).status.success());
    let created = create("http://mail.example");
    assert!(created.status.success(), "{created:?}");
    let head = passing_on.join().unwrap();
    assert_eq!(head[0], "CONNECT mail.example:80 HTTP/1.1");
    assert!(
        head.contains(&"Proxy-Authorization: Basic dXNlcjp3b3Jk".to_owned()),
        "{head:?}"
    );
}

#[test]
fn messages_are_listed_newest_first_and_filtered() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    assert_eq!(server.run_cli(&key, ["messages", &address]), "");
    for subject in ["Welcome", "Your invoice", "Welcome back"] {
        deliver(&server.smtp, &address, subject, "text");
    }
    let list = |arguments: &[&str]| {
        let arguments = ["messages", address.as_str()]
            .into_iter()
            .chain(arguments.iter().copied());
        let lines = server.run_cli(&key, arguments);
        lines
            .lines()
            .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let subjects = |lines: Vec<Vec<String>>| {
        lines
            .into_iter()
            .map(|line| line[3].clone())
            .collect::<Vec<_>>()
    };

    let all = list(&[]);
    assert_eq!(all[0].len(), 4);
    assert_eq!(all[0][2], "app@example.com");
    let oldest = all[2][0].clone();
    assert_eq!(subjects(all), ["Welcome back", "Your invoice", "Welcome"]);
    assert_eq!(
        subjects(list(&["--subject", "WELCOME"])),
        ["Welcome back", "Welcome"]
    );
    assert_eq!(
        subjects(list(&["--after", &oldest])),
        ["Welcome back", "Your invoice"]
    );
}

#[test]
fn messages_as_json_are_the_services_answer() {
    let (_data_dir, server, key) = first_start();
    deliver(
        &server.smtp,
        "json@restante.example.com",
        "Hello",
        "Your code is 123456.",
    );
    let list: Value =
        serde_json::from_str(&server.run_cli(&key, ["messages", "json", "--json"])).unwrap();
    assert_eq!(list["messages"][0]["subject"], "Hello");
    assert_eq!(list["messages"][0]["otp"], "123456");
}

#[test]
fn an_answer_that_breaks_off_is_no_success() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer_all = move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let request: Vec<String> = (&mut stream)
                .lines()
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty())
                .collect();
            let body = if request[0].contains("/messages") {
                r#"{"messages":[{"id""#
            } else {
                r#"{"id":"a","address":"a@b","kind":"temporary","created_at":"","expires_at":null}"#
            };
            let length = if request[0].contains("/messages") {
                1_000
            } else {
                body.len()
            };
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            stream
                .get_mut()
                .write_all(format!("{head}{body}").as_bytes())
                .unwrap();
        }
    };
    thread::spawn(answer_all);
    for arguments in [&["messages", "a", "--json"][..], &["messages", "a"]] {
        let mut messages = command(arguments);
        messages
            .env("RESTANTE_URL", &url)
            .env("RESTANTE_API_KEY", format!("rst_live_{}", "0".repeat(32)));
        let Output { status, stderr, .. } = messages.output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains("cannot reach"), "{said}");
    }
}

#[test]
fn an_unknown_cursor_is_a_failed_request() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let unknown = "01936b0e-0000-7000-8000-000000000000";
    for (after, says) in [
        ("nonsense", "'--after <ID>'"),
        (unknown, "--after: 01936b0e"),
    ] {
        for command in ["messages", "wait", "explain", "message"] {
            let (code, said) =
                failed(&mut server.client(&key, [command, &address, "--after", after]));
            assert!(code == 2 && said.contains(says), "{command}: {said}");
        }
    }
}

#[test]
fn a_hostile_subject_does_not_drive_the_terminal() {
    let (_data_dir, server, key) = first_start();
    // "\x1b[2Jboo" as an encoded word.
    deliver(
        &server.smtp,
        "terminal@restante.example.com",
        "=?utf-8?B?G1sySmJvbw==?=",
        "text \x1b]0;boo\x07",
    );
    for arguments in [["messages", "terminal"], ["wait", "terminal"]] {
        let printed = server.run_cli(&key, arguments);
        assert!(
            printed.contains("boo") && !printed.contains(['\x1b', '\x07']),
            "{printed:?}"
        );
    }
}

#[test]
fn a_mistake_is_answered_with_what_to_write() {
    let (_data_dir, server, key) = first_start();
    let inbox = server.run_cli(&key, ["inbox", "create"]);
    let error = |arguments: &[&str]| {
        let (code, error) = failed(&mut server.client(&key, arguments.iter().copied()));
        assert_eq!(code, 2, "{error}");
        error
    };
    for (arguments, words) in [
        (&["send", &inbox, "--to", "nobody"][..], "--to"),
        (&["send", &inbox, "--to", "nobody"], "ada@example.com"),
        (&["forward", &inbox, "nobody"], "ada@example.com"),
        (&["wait", "ada@gmail.com"], "--accept-domains"),
        (
            &["wait", "ada@gmail.com"],
            "accepts no mail for ada@gmail.com",
        ),
        (&["wait", &inbox, "--timeout", "foo"], "30s"),
    ] {
        let error = error(arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    let smtp = format!("http://{}", server.smtp);
    let tls = server.url.replace("http:", "https:");
    for (url, words) in [(smtp, "the port for SMTP"), (tls, "write http://")] {
        let error = error(&["inbox", "get", &inbox, "--url", &url]);
        assert!(error.contains(words), "{url}: {error}");
    }
}
