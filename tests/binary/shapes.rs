//! Large messages of every shape, through every endpoint and page that reads messages: the memory
//! of the process stays within its limits. Requests that find no place in time get 503.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use testkit::server::{Server, command, printed};
use testkit::smtp::Smtp;

/// The variable for the full test: so many clients of each kind at the same time, messages of 24
/// MiB, and the default settings.
const VARIABLE: &str = "RESTANTE_TEST_SHAPE_CLIENTS";
const KEY: &str = "rst_live_0123456789abcdefghijklmnopqrstuv";
const MIB: usize = 1024 * 1024;

/// How large the test is.
struct Scale {
    clients: usize,
    message: usize,
    flags: &'static [&'static str],
    /// The maximum memory of the process.
    memory: usize,
}

impl Scale {
    fn of_environment() -> Self {
        match std::env::var(VARIABLE) {
            Ok(clients) => {
                let clients = clients.parse().unwrap();
                Self {
                    clients,
                    message: 24 * MIB,
                    flags: &["--api-key", KEY],
                    memory: 768 * MIB,
                }
            }
            Err(_) => Self {
                clients: 2,
                message: MIB / 4,
                flags: &["--api-key", KEY],
                memory: 96 * MIB,
            },
        }
    }
}

/// The part of a message after its subject: more header fields, an empty line, and the body.
fn shapes(size: usize) -> Vec<(&'static str, String)> {
    let lines = |unit: &str| (unit.repeat(72 / unit.len()) + "\r\n").repeat(size / 74);
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    let base64 = "Content-Transfer-Encoding: base64\r\n";
    let links: String = (0..size / 50)
        .map(|number| format!("<a href='https://a.example/{number}'>l</a>\r\n"))
        .collect();
    let fields: String = (0..100_000.min(size / 10))
        .map(|number| format!("X-{number}: x\r\n"))
        .collect();
    let image = format!(
        "--b\r\nContent-Type: image/png\r\nContent-ID: <i>\r\n{base64}\r\n{}--b--\r\n",
        &lines("QUJD")[..size * 9 / 10]
    );
    let related = |body: &str| {
        format!(
            "Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\n{html}\r\n{body}\r\n{image}"
        )
    };
    let parts: String = (0..50_000.min(size / 60))
        .map(|number| format!("--b\r\nContent-Type: text/plain; name=f{number}\r\n\r\nx\r\n"))
        .collect();
    vec![
        ("ampersands", format!("\r\n{}", lines("&"))),
        ("less-than signs", format!("\r\n{}", lines("<"))),
        ("control characters", format!("\r\n{}", lines("\u{1}"))),
        (
            "HTML of text",
            format!("{html}\r\n<p>{}", lines("word <b>word</b> ")),
        ),
        (
            "a quoted attribute",
            format!("{html}\r\n<p title='{}'>", lines("\"")),
        ),
        ("links", format!("{html}\r\n{links}")),
        ("an image", related("<img src=cid:i>")),
        (
            "an image many times",
            related(&"<img src=cid:i>\r\n".repeat(100)),
        ),
        ("header fields", format!("{fields}\r\nx\r\n")),
        ("base64", format!("{base64}\r\n{}", lines("QUJD"))),
        (
            "quoted-printable",
            format!(
                "Content-Transfer-Encoding: quoted-printable\r\n\r\n{}",
                lines("=26")
            ),
        ),
        (
            "parts",
            format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n"),
        ),
    ]
}

/// Sends a message to the inbox and returns its id, which is in the reply.
fn deliver(server: &Server, inbox: &str, rest: &str) -> String {
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    for line in [
        "MAIL FROM:<app@example.com>",
        &format!("RCPT TO:<{inbox}@restante.example.com>"),
        "DATA",
    ] {
        smtp.say(line).unwrap();
    }
    let reply = smtp
        .say(&format!(
            "From: app@example.com\r\nSubject: s\r\n{rest}\r\n."
        ))
        .unwrap();
    reply.rsplit(' ').next().unwrap().to_owned()
}

/// Sends a request with these header lines, reads the whole response, and returns its start.
fn exchange(server: &Server, method: &str, path: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let host = server.url.trim_start_matches("http://");
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut start = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => break,
            read if start.len() < piece.len() => start.extend_from_slice(&piece[..read]),
            _ => {}
        }
    }
    String::from_utf8_lossy(&start).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Signs in, and returns the header line of the cookie and the path of the project.
fn sign_in(server: &Server) -> (String, String) {
    let head = format!(
        "Origin: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        server.url
    );
    let answer = exchange(server, "POST", "/sign-in", &head, &format!("secret={KEY}"));
    let header = |name: &str| {
        let line = answer
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect(&answer);
        line.trim().split(';').next().unwrap().to_owned()
    };
    let cookie = format!("Cookie: {}\r\n", header("set-cookie:"));
    let home = exchange(server, "GET", "/", &cookie, "");
    let project = home
        .lines()
        .find_map(|line| line.strip_prefix("location:"))
        .expect(&home)
        .trim();
    (cookie, project.split("/inboxes").next().unwrap().to_owned())
}

/// The requests that read a message: method, path, header lines and body.
fn requests(message: &str, inbox: &str, cookie: &str, project: &str) -> Vec<[String; 4]> {
    let key = format!("X-Api-Key: {KEY}\r\n");
    let get = |path: String, head: &str| ["GET".to_owned(), path, head.to_owned(), String::new()];
    let mut requests: Vec<_> = ["", "/raw", "/page", "/details", "/attachments/0"]
        .map(|form| get(format!("/v1/messages/{message}{form}"), &key))
        .into();
    let list = format!("/v1/inboxes/{inbox}/messages");
    requests.extend([
        get(list.clone(), &key),
        get(format!("{list}/wait?timeout=0"), &key),
    ]);
    let tabs = [
        "text",
        "html",
        "html source",
        "check",
        "links",
        "code",
        "headers",
        "parts",
        "source",
    ];
    let page = format!("{project}/inboxes/{inbox}/messages/{message}");
    requests.extend(tabs.map(|tab| get(format!("{page}?tab={}", tab.replace(' ', "+")), cookie)));
    let of_message = ["html", "eml", "parts/1", "images/2"];
    requests
        .extend(of_message.map(|form| get(format!("{project}/messages/{message}/{form}"), cookie)));
    let of_inbox = ["", "?q=word", &format!("/send?reply={message}")]
        .map(|form| format!("/inboxes/{inbox}{form}"));
    requests.extend(of_inbox.map(|path| get(format!("{project}{path}"), cookie)));
    requests.push(get(format!("{project}/mail?q=word"), cookie));
    let head = format!(
        "{key}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Mcp-Protocol-Version: 2025-06-18\r\n"
    );
    let tool =
        format!(r#"{{"name":"get_message","arguments":{{"message":"{message}","html":true}}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{tool}}}"#);
    requests.push(["POST".to_owned(), "/mcp".to_owned(), head, call]);
    requests
}

#[test]
fn no_shape_of_a_message_takes_more_than_its_share_of_memory() {
    let scale = Scale::of_environment();
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), scale.flags);
    let (cookie, project) = sign_in(&server);
    for (number, (shape, rest)) in shapes(scale.message).iter().enumerate() {
        let inbox = format!("shape-{number}");
        let message = deliver(&server, &inbox, rest);
        for [method, path, head, body] in requests(&message, &inbox, &cookie, &project) {
            let statuses: Vec<u16> = thread::scope(|scope| {
                let ask = || status(&exchange(&server, &method, &path, &head, &body));
                let clients: Vec<_> = (0..scale.clients).map(|_| scope.spawn(ask)).collect();
                clients
                    .into_iter()
                    .map(|client| client.join().unwrap())
                    .collect()
            });
            // A message may have no such part.
            let has_answer = statuses.iter().any(|status| matches!(status, 200 | 404));
            let is_answered = statuses
                .iter()
                .all(|status| matches!(status, 200 | 404 | 503));
            assert!(has_answer && is_answered, "{shape}: {path}: {statuses:?}");
            let peak = server.peak_kib() * 1024;
            assert!(peak <= scale.memory, "{shape}: {path}: {} MiB", peak / MIB);
        }
        #[allow(clippy::print_stdout, reason = "the large form is run for this figure")]
        {
            println!("{shape}: {} MiB", server.peak_kib() / 1024);
        }
    }
}

#[test]
fn thirty_pages_of_one_message_share_memory() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--api-key", KEY]);
    let message = deliver(&server, "page", &shapes(8 * MIB)[0].1);
    let path = format!("/v1/messages/{message}/page");
    let key = format!("X-Api-Key: {KEY}\r\n");
    let ask = || status(&exchange(&server, "GET", &path, &key, ""));
    let statuses: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> = (0..30).map(|_| scope.spawn(ask)).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    assert!(
        statuses.contains(&200) && statuses.iter().all(|status| matches!(status, 200 | 503)),
        "{statuses:?}"
    );
    assert!(
        server.peak_kib() * 1024 <= 256 * MIB,
        "{} MiB",
        server.peak_kib() / 1024
    );
}

/// The body of a request that sends a lot, with its path and its header lines.
struct Large(&'static str, String, String);

fn large_sends() -> Vec<Large> {
    let key = || format!("X-Api-Key: {KEY}\r\nContent-Type: application/json\r\n");
    let any = || "Authorization: Bearer any\r\nContent-Type: application/json\r\n".to_owned();
    let to = "large@restante.example.com";
    let text = |bytes: usize| "word ".repeat(bytes / 5);
    let message = format!(r#""to":"{to}","subject":"s","text":"{}""#, text(9 * MIB));
    let mcp = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"send_message",
            "arguments":{{"inbox":"large",{message}}}}}}}"#
    );
    let accept = "Accept: application/json, text/event-stream\r\n";
    let email = |bytes| {
        let text = text(bytes);
        format!(r#"{{"From":"a@app.example","To":"{to}","Subject":"s","TextBody":"{text}"}}"#)
    };
    let file = format!(
        r#"{{"filename":"f","content":"{}"}}"#,
        "QUJD".repeat(6 * MIB)
    );
    let personalizations = vec![format!(r#"{{"to":[{{"email":"{to}"}}]}}"#); 1_000].join(",");
    let sendgrid = format!(
        r#"{{"from":{{"email":"a@app.example"}},"subject":"s","personalizations":[{personalizations}],
            "content":[{{"type":"text/plain","value":"{}"}}]}}"#,
        text(95_000)
    );
    let small = vec!["{}"; 500].join(",");
    vec![
        Large(
            "/v1/inboxes/large/messages",
            key(),
            format!("{{{message}}}"),
        ),
        Large("/mcp", key() + accept, mcp),
        Large("/send/postmark/email", any(), email(20 * MIB)),
        Large(
            "/send/postmark/email/batch",
            any(),
            format!("[{}]", vec![email(60_000); 500].join(",")),
        ),
        Large("/send/postmark/email/batch", any(), format!("[{small}]")),
        Large(
            "/send/resend/emails",
            any(),
            format!(
                r#"{{"from":"a@app.example","to":"{to}","subject":"s","text":"t","attachments":[{file}]}}"#
            ),
        ),
        Large("/send/sendgrid/v3/mail/send", any(), sendgrid),
    ]
}

/// The most that one large job may take; there are four places.
const MAX_OF_ONE: usize = 120 * MIB;

#[test]
fn one_large_job_takes_at_most_a_quarter_of_the_peak() {
    let data_dir = tempfile::tempdir().unwrap();
    let start = || Server::start(data_dir.path(), &["--api-key", KEY]);
    let check = |server: &Server, before: usize, name: &str| {
        let taken = server.peak_kib() * 1024 - before;
        assert!(taken <= MAX_OF_ONE, "{name}: {} MiB", taken / MIB);
        #[allow(clippy::print_stdout, reason = "the test is run for this figure")]
        {
            println!("{name}: {} MiB", taken / MIB);
        }
    };
    let is_full = std::env::var_os(VARIABLE).is_some();
    let shapes = shapes(24 * MIB).into_iter();
    let messages: Vec<_> = {
        let server = start();
        deliver(&server, "large", "\r\nx");
        shapes
            .filter(|(shape, _)| is_full || ["links", "an image"].contains(shape))
            .map(|(shape, rest)| (shape, deliver(&server, "large", &rest)))
            .collect()
    };
    for Large(path, head, body) in large_sends() {
        let server = start();
        let before = server.peak_kib() * 1024;
        let answer = exchange(&server, "POST", path, &head, &body);
        assert!(matches!(status(&answer), 200 | 202), "{path}: {answer}");
        check(&server, before, path);
    }
    let key = format!("X-Api-Key: {KEY}\r\n");
    for (shape, message) in messages {
        for form in ["", "/details", "/page"] {
            let server = start();
            let before = server.peak_kib() * 1024;
            let path = format!("/v1/messages/{message}{form}");
            assert_eq!(status(&exchange(&server, "GET", &path, &key, "")), 200);
            check(&server, before, &format!("{shape} {form}"));
        }
    }
}

/// Sends a request and reads nothing of the response but its first byte.
fn unread(server: &Server, path: &str, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let _ = stream.peek(&mut [0]);
    stream
}

#[test]
fn slow_readers_of_one_key_do_not_delay_another_key() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--api-key", KEY]);
    let create = [
        "project",
        "create",
        "theirs",
        "--data-dir",
        data_dir.path().to_str().unwrap(),
    ];
    let theirs = printed(&mut command(create));
    let image = format!(
        "Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n{}",
        ("QUJD".repeat(18) + "\r\n").repeat(6 * MIB / 74)
    );
    let message = deliver(&server, "flood", &image);
    let paths =
        ["attachments/0", "raw", "details"].map(|form| format!("/v1/messages/{message}/{form}"));
    let slow: Vec<TcpStream> = thread::scope(|scope| {
        let paths = paths.iter().cycle().take(40);
        let threads: Vec<_> = paths
            .map(|path| scope.spawn(|| unread(&server, path, KEY)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let key = format!("X-Api-Key: {theirs}\r\n");
    let timed = |method: &str, path: &str, body: &str| {
        let start = Instant::now();
        let answer = exchange(&server, method, path, &key, body);
        // A request that waits for memory takes ten seconds.
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{path}: {:?}",
            start.elapsed()
        );
        answer
    };
    for _ in 0..5 {
        let created = timed("POST", "/v1/inboxes", "{}");
        let inbox = created
            .split("\"id\":\"")
            .nth(1)
            .expect(&created)
            .split('"')
            .next()
            .unwrap();
        let messages = format!("/v1/inboxes/{inbox}/messages");
        let send = format!(
            r#"{{"to":"{inbox}@restante.example.com","subject":"s","text":"{}"}}"#,
            "x".repeat(20_000)
        );
        assert_eq!(status(&timed("POST", &messages, &send)), 202);
        for path in [format!("{messages}/wait?timeout=5000"), messages] {
            assert_eq!(status(&timed("GET", &path, "")), 200);
        }
    }
    // The first key has no more memory now, and its readers still hold what they have.
    assert_eq!(
        status(&exchange(
            &server,
            "GET",
            &paths[2],
            &format!("X-Api-Key: {KEY}\r\n"),
            ""
        )),
        503
    );
    drop(slow);
}
