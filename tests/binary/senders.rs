//! The SDKs of mail providers, which `./test` fetches, send to the program; `tests/senders` says
//! what they do. And connections that the program closes or resets, because a fault of an inbox
//! asks for it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use testkit::server::{Server, first_start, printed};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_sdks_for_node_send() {
    let (_data_dir, server, key) = first_start();
    let mut node = Command::new("node");
    node.arg(format!("{ROOT}/tests/senders/node.mjs"))
        .env("SDKS", format!("{ROOT}/target/senders-node/node_modules"));
    let said = printed(
        node.env("RESTANTE_URL", &server.url)
            .env("RESTANTE_API_KEY", key),
    );
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn the_sdks_for_python_send() {
    let (_data_dir, server, key) = first_start();
    let mut python = Command::new(format!("{ROOT}/target/senders-python/bin/python"));
    python.args(["-B", &format!("{ROOT}/tests/senders/python_sdks.py")]);
    let said = printed(
        python
            .env("RESTANTE_URL", &server.url)
            .env("RESTANTE_API_KEY", key),
    );
    assert!(said.ends_with("passed"), "{said}");
}

/// Sends a request, and reads until the connection ends.
fn post(server: &Server, path: &str, content_type: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer any\r\nConnection: close\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A small message to this address, as a request to each provider.
fn requests(to: &str) -> [(&'static str, &'static str, String); 6] {
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let resend = json!({"from": "a@app.example", "to": to, "subject": "s", "text": "t"});
    let sendgrid = json!({"from": {"email": "a@app.example"}, "personalizations": [{"to": [{"email": to}]}],
        "subject": "s", "content": [{"type": "text/plain", "value": "t"}]});
    let postmark = json!({"From": "a@app.example", "To": to, "Subject": "s", "TextBody": "t"});
    let ses = json!({"FromEmailAddress": "a@app.example", "Destination": {"ToAddresses": [to]},
        "Content": {"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": "t"}}}}});
    let mailgun = format!("from=a@app.example&to={to}&subject=s&text=t");
    let query = format!(
        "Action=SendEmail&Source=a@app.example&Destination.ToAddresses.member.1={to}&Message.Subject.Data=s&\
         Message.Body.Text.Data=t"
    );
    [
        ("/send/resend/emails", json, resend.to_string()),
        ("/send/sendgrid/v3/mail/send", json, sendgrid.to_string()),
        ("/send/postmark/email", json, postmark.to_string()),
        ("/send/ses/v2/email/outbound-emails", json, ses.to_string()),
        ("/send/mailgun/v3/app.example/messages", form, mailgun),
        ("/send/ses/", form, query),
    ]
}

#[test]
fn a_fault_closes_or_resets_the_connection() {
    let (_data_dir, server, key) = first_start();
    for (path, content_type, body) in requests("{to}") {
        let inbox = server.run_cli(&key, ["inbox", "create"]);
        let send = || post(&server, path, content_type, &body.replace("{to}", &inbox));
        let messages = || server.run_cli(&key, ["messages", &inbox]).lines().count();
        for (at, stored) in [("rcpt", 0), ("data", 1)] {
            let store: &[&str] = if at == "data" { &["--store"] } else { &[] };
            for action in ["disconnect", "reset"] {
                let before = messages();
                server.run_cli(
                    &key,
                    [&["fault", &inbox, action, "--at", at], store].concat(),
                );
                match (action, send()) {
                    ("disconnect", Ok(answer)) => assert_eq!(answer, "", "{path} {at}"),
                    ("reset", Err(error)) => {
                        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{path} {at}");
                    }
                    (_, ended) => panic!("{path} {action} {at}: {ended:?}"),
                }
                assert_eq!(messages() - before, stored, "{path} {action} {at}");
            }
        }
        assert!(send().unwrap().starts_with("HTTP/1.1 20"), "{path}");
    }
}
