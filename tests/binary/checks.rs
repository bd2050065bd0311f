//! `restante check` and `restante forward`: whether the newest message is good, and its copy at
//! another address.

use std::net::UdpSocket;
use std::thread;

use serde_json::Value;
use testkit::server::{Server, failed, first_start, printed};
use testkit::smtp::Smtp;

const GOOD: &str = "From: Shop <shop@app.example>\r\nTo: ada@app.example\r\nSubject: Welcome\r\n\
    Message-ID: <1@app.example>\r\nDate: @DATE@\r\n\r\nHello Ada,\r\n\r\nwelcome.";

/// Delivers a message of today.
fn deliver(server: &Server, to: &str, message: &str) {
    let now = httpdate::fmt_http_date(std::time::SystemTime::now()).replace("GMT", "+0000");
    let mut client = Smtp::connect(&server.smtp).unwrap();
    client.say("MAIL FROM:<shop@app.example>").unwrap();
    client.say(&format!("RCPT TO:<{to}>")).unwrap();
    client.say("DATA").unwrap();
    assert!(
        client
            .say(&format!("{}\r\n.", message.replace("@DATE@", &now)))
            .unwrap()
            .starts_with("250")
    );
}

/// The exit code and the standard output.
fn checked(server: &Server, key: &str, arguments: &[&str]) -> (i32, String) {
    let output = server
        .client(key, ["check"].iter().chain(arguments).copied())
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn errors_make_the_check_of_a_message_fail() {
    let (_data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server, &address, GOOD);
    assert_eq!(
        checked(&server, &key, &[&address]),
        (0, "no problems\n".to_owned())
    );

    deliver(
        &server,
        &address,
        &GOOD
            .replace("Ada,", "{{name}},")
            .replace("Welcome", "Second"),
    );
    let (code, said) = checked(&server, &key, &[&address]);
    let problem = "error  placeholder  The text contains `{{name}}`.\n  text:1  Hello {{name}},\n";
    assert_eq!((code, said.as_str()), (1, problem));
    assert_eq!(
        checked(&server, &key, &[&address, "--fail-on", "never"]),
        (0, problem.to_owned())
    );
    assert_eq!(
        checked(&server, &key, &[&address, "--ignore", "placeholder"]),
        (0, "no problems\n".to_owned())
    );
    assert_eq!(
        checked(&server, &key, &[&address, "--subject", "welcome"]).0,
        0
    );
    let (code, json) = checked(&server, &key, &[&address, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (code, &json["problems"][0]["line"], &json["authentication"]),
        (1, &1.into(), &Value::Null)
    );

    deliver(&server, &address, &GOOD.replace("Subject: Welcome\r\n", ""));
    assert_eq!(checked(&server, &key, &[&address]).0, 0);
    assert_eq!(
        checked(&server, &key, &[&address, "--fail-on", "warning"]).0,
        1
    );
    let (code, said) =
        failed(&mut server.client(&key, ["check", &address, "--ignore", "spelling"]));
    assert!(
        code == 2 && said.contains("write placeholder, link"),
        "{said}"
    );
    let (code, said) = failed(&mut server.client(&key, ["check", "nobody"]));
    assert!(
        code == 2 && said.contains("there is no inbox nobody"),
        "{said}"
    );
}

#[test]
fn a_check_with_dns_asks_the_configured_server() {
    let dns = UdpSocket::bind("127.0.0.1:0").unwrap();
    let dns_server = dns.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, client)) = dns.recv_from(&mut query) {
            // The query as a response: there is no such name.
            (query[2], query[3]) = (0x81, 0x83);
            dns.send_to(&query[..length], client).unwrap();
        }
    });
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--dns-server", &dns_server]);
    let key = server.made_key().unwrap().to_owned();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server, &address, GOOD);
    let said = server.run_cli(&key, ["check", &address, "--dns"]);
    let results = "no problems\nspf  none  app.example has no SPF record.\n\
        dmarc  none  app.example has no DMARC record.";
    assert_eq!(said, results);
}

#[test]
fn the_newest_message_is_forwarded_as_it_was_received() {
    let (_data_dir, server, key) = first_start();
    let [one, other] = [(); 2].map(|()| server.run_cli(&key, ["inbox", "create"]));
    deliver(&server, &one, GOOD);
    let source = server.run_cli(&key, ["message", &one, "--source"]);
    let received = &source[source.find("From: Shop").unwrap()..];
    let id = server.run_cli(&key, ["forward", &one, &other]);
    assert_eq!(id.len(), 36, "{id}");
    let forwarded = server.run_cli(&key, ["message", &other, "--source"]);
    assert!(
        forwarded.contains(&format!("Resent-To: {other}")) && forwarded.ends_with(received),
        "{forwarded}"
    );
    let accepted: Value = serde_json::from_str(&printed(
        &mut server.client(&key, ["forward", &one, &other, "--json"]),
    ))
    .unwrap();
    assert_eq!(accepted["status"], "queued");
    for (arguments, says) in [
        (["forward", &one, "nobody"], "write a whole address"),
        (["forward", "nobody", &other], "there is no inbox nobody"),
    ] {
        let (code, said) = failed(&mut server.client(&key, arguments));
        assert!(
            code == 2 && said.contains(says),
            "{arguments:?}: {code} {said}"
        );
    }
}
