//! Fault injection, with real mail programs (Postfix's queue, nodemailer, Python's mail package),
//! and with a server that is killed while it uses faults.
//!
//! By default a few rounds are run;
//! `RESTANTE_KILL_ROUNDS=200 cargo test --test binary faults -- --nocapture` runs more.

use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::postfix::Postfix;
use testkit::eventually;
use testkit::http;
use testkit::postgres::TestDatabase;
use testkit::server::{Server, failed, first_start, printed};
use testkit::smtp::{Smtp, deliver};

/// The directory in which `./test` has installed nodemailer.
const NODE_MODULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/clients/typescript/node_modules"
);
const ROUNDS: usize = 4;
/// Where a fault is, and the protocol of the mail that uses it.
const WAYS: [(&str, Way); ROUNDS] = [
    ("rcpt", Way::Smtp),
    ("data", Way::Smtp),
    ("rcpt", Way::Http),
    ("data", Way::Http),
];

/// The protocol of mail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Smtp,
    Http,
}
const SENDERS: usize = 4;

fn faults(server: &Server, key: &str, inbox: &str) -> Vec<Value> {
    let shown: Value =
        serde_json::from_str(&server.run_cli(key, ["fault", inbox, "--json"])).unwrap();
    shown["faults"].as_array().unwrap().clone()
}

/// Replaces the faults of an inbox, over HTTP.
fn set_faults(server: &Server, key: &str, address: &str, faults: &Value) {
    let url = format!(
        "{}/v1/inboxes/{}/faults",
        server.url,
        address.split('@').next().unwrap()
    );
    let request = http::put(url).header("Authorization", format!("Bearer {key}"));
    request.send(json!({"faults": faults}).to_string()).unwrap();
}

#[test]
fn the_command_sets_shows_and_clears_faults() {
    let (_data_dir, server, key) = first_start();
    let inbox = server.run_cli(&key, ["inbox", "create"]);
    assert_eq!(server.run_cli(&key, ["fault", &inbox]), "");
    let set = server.run_cli(&key, ["fault", &inbox, "defer", "--times", "2"]);
    assert_eq!(set, "defer at rcpt: used 0 of 2, 2 left");
    let mut smtp = Smtp::connect(&server.smtp).unwrap();
    smtp.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        smtp.say(&format!("RCPT TO:<{inbox}>"))
            .unwrap()
            .starts_with("451 4.3.0")
    );
    let shown = server.run_cli(&key, ["fault", &inbox]);
    assert!(
        shown.starts_with("defer at rcpt: used 1 of 2, 1 left\n  20"),
        "{shown}"
    );

    for (arguments, shown) in [
        (
            &["reject", "--reply", "550 5.7.1 No"][..],
            "reject at rcpt with 550 5.7.1 No: used 0 of 1, 1 left",
        ),
        (
            &["disconnect", "--store"],
            "disconnect at data after storing: used 0 of 1, 1 left",
        ),
        (
            &["delay", "--seconds", "7", "--at", "data"],
            "delay at data for 7 s: used 0 of 1, 1 left",
        ),
        (
            &["reset", "--store"],
            "reset at data after storing: used 0 of 1, 1 left",
        ),
        (&["drop"], "drop at data: used 0 of 1, 1 left"),
        (&["bounce"], "bounce at data: used 0 of 1, 1 left"),
        (
            &["duplicate", "--times", "3"],
            "duplicate at data: used 0 of 3, 3 left",
        ),
    ] {
        assert_eq!(
            server.run_cli(&key, [&["fault", &inbox][..], arguments].concat()),
            shown
        );
    }
    let (code, said) =
        failed(&mut server.client(&key, ["fault", &inbox, "reject", "--reply", "no"]));
    assert_eq!((code, said.contains("--reply")), (2, true), "{said}");
    let (code, said) = failed(&mut server.client(&key, ["fault", &inbox, "delay"]));
    assert_eq!((code, said.contains("--seconds")), (2, true), "{said}");
    assert_eq!(server.run_cli(&key, ["fault", &inbox, "--clear"]), "");
    assert_eq!(faults(&server, &key, &inbox), Vec::<Value>::new());
}

#[test]
fn postfix_tries_again_until_it_is_accepted() {
    let (_data_dir, server, key) = first_start();
    let postfix = Postfix::start(&server.smtp);
    let inbox = server.run_cli(&key, ["inbox", "create"]);
    let steps =
        json!([{"at": "rcpt", "do": "defer", "times": 2}, {"at": "data", "do": "disconnect"}]);
    set_faults(&server, &key, &inbox, &steps);
    postfix.send(
        "app@example.com",
        &inbox,
        "Subject: Retried\n\nYour code is 482913.\n",
    );
    eventually("Postfix has given up", || {
        postfix.flush();
        let [deferred, disconnected] = &faults(&server, &key, &inbox)[..] else {
            panic!("two faults")
        };
        deferred["used"] == 2 && disconnected["used"] == 1
    });
    // Postfix puts the message back into its queue after the failed attempt; a flush before that
    // has no effect.
    eventually("the message is stored", || {
        postfix.flush();
        !server.run_cli(&key, ["messages", &inbox]).is_empty()
    });
    assert_eq!(server.run_cli(&key, ["wait", &inbox, "--otp"]), "482913");
    let deferred = &faults(&server, &key, &inbox)[0];
    assert_eq!(deferred["left"], 0);
    let uses = deferred["uses"].as_array().unwrap();
    assert!(uses[0].as_str() < uses[1].as_str(), "{uses:?}");
    assert_eq!(
        server.run_cli(&key, ["messages", &inbox]).lines().count(),
        1
    );
}

#[test]
fn nodemailer_reports_what_went_wrong() {
    const SCRIPT: &str = r#"
        const [port, to] = process.argv.slice(1);
        const server = { host: "127.0.0.1", port: Number(port), ignoreTLS: true };
        const transport = require("nodemailer").createTransport(server);
        transport.sendMail({ from: "app@example.com", to, subject: "Hello", text: "Hi" })
          .then(() => console.log("sent"), (error) => console.log(error.code, error.responseCode, error.response));
    "#;
    let (_data_dir, server, key) = first_start();
    let inbox = server.run_cli(&key, ["inbox", "create"]);
    let port = server.smtp.rsplit(':').next().unwrap();
    let send = || {
        printed(
            Command::new("node")
                .args(["-e", SCRIPT, port, &inbox])
                .env("NODE_PATH", NODE_MODULES),
        )
    };
    let steps = json!([
        {"at": "rcpt", "do": "reject"},
        {"at": "data", "do": "reject", "reply": "554 5.7.1 Looks like spam"},
        {"at": "rcpt", "do": "disconnect"},
        {"at": "data", "do": "disconnect"},
    ]);
    set_faults(&server, &key, &inbox, &steps);
    assert_eq!(send(), "EENVELOPE 550 550 5.1.1 Rejected on request");
    assert_eq!(send(), "EMESSAGE 554 554 5.7.1 Looks like spam");
    for _ in 0..2 {
        let said = send();
        assert!(
            said.starts_with("ECONNECTION") || said.starts_with("ESOCKET"),
            "{said}"
        );
    }
    assert_eq!(send(), "sent");
    assert!(
        faults(&server, &key, &inbox)
            .iter()
            .all(|fault| fault["used"] == 1)
    );
}

#[test]
fn a_bounce_arrives_in_the_senders_inbox_and_python_reads_it() {
    const SCRIPT: &str = r#"
import email, email.policy, sys
report = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
assert report.get_content_type() == "multipart/report", report.get_content_type()
assert report.get_param("report-type") == "delivery-status"
text, status, header = report.iter_parts()
assert text.get_content_type() == "text/plain" and "could not be delivered" in text.get_content()
assert header.get_content_type() == "text/rfc822-headers" and "Subject: Welcome" in header.get_content()
assert not report.defects, report.defects
message, *recipients = status.get_payload()
print(message["Reporting-MTA"])
for recipient in recipients:
    print(recipient["Final-Recipient"], recipient["Action"], recipient["Status"])
"#;
    let (_data_dir, server, key) = first_start();
    let sender = server.run_cli(&key, ["inbox", "create"]);
    let one = server.run_cli(&key, ["inbox", "create"]);
    let other = server.run_cli(&key, ["inbox", "create"]);
    server.run_cli(&key, ["fault", &one, "bounce", "--times", "2"]);
    let send = |from: &str| {
        let mut smtp = Smtp::connect(&server.smtp).unwrap();
        smtp.say(&format!("MAIL FROM:<{from}>")).unwrap();
        for recipient in [&other, &one] {
            smtp.say(&format!("RCPT TO:<{recipient}>")).unwrap();
        }
        smtp.say("DATA").unwrap();
        smtp.say("Message-ID: <1@app.example>\r\nSubject: Welcome\r\n\r\nHi\r\n.")
            .unwrap()
    };
    assert!(send(&sender).starts_with("250 2.0.0 Stored"));
    let bounce: Value =
        serde_json::from_str(&server.run_cli(&key, ["wait", &sender, "--json"])).unwrap();
    assert_eq!(bounce["subject"], "Undelivered Mail: Welcome");
    let url = format!(
        "{}/v1/messages/{}",
        server.url,
        bounce["id"].as_str().unwrap()
    );
    let get = |path: &str| {
        let request =
            http::get(format!("{url}/{path}")).header("Authorization", format!("Bearer {key}"));
        request.call().unwrap().into_body()
    };
    // The null reverse-path.
    assert_eq!(
        serde_json::from_str::<Value>(&get("details")).unwrap()["envelope"]["from"],
        ""
    );
    let raw = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(raw.path(), get("raw")).unwrap();
    let read = printed(
        Command::new("python3")
            .args(["-c", SCRIPT])
            .stdin(std::fs::File::open(raw.path()).unwrap()),
    );
    assert_eq!(
        read,
        format!("dns; restante.example.com\nrfc822; {one} failed 5.1.1")
    );

    // A bounce never bounces.
    assert!(send("").starts_with("250 2.0.0 Stored"));
    assert_eq!(faults(&server, &key, &one)[0]["used"], 2);
    deliver(&server.smtp, &one, "Last", "text");
    for (inbox, count) in [(&sender, 1), (&one, 1), (&other, 2)] {
        assert_eq!(
            server.run_cli(&key, ["messages", inbox]).lines().count(),
            count,
            "{inbox}"
        );
    }
}

#[test]
fn a_thousand_delayed_connections_change_nothing_for_others() {
    raise_file_limit();
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        data_dir.path(),
        &["--max-smtp-connections-per-address", "2000"],
    );
    let key = server.made_key().unwrap().to_owned();
    let slow = server.run_cli(&key, ["inbox", "create"]);
    let other = server.run_cli(&key, ["inbox", "create"]);
    let delay = [
        "fault",
        &slow,
        "delay",
        "--seconds",
        "300",
        "--times",
        "1000",
    ];
    server.run_cli(&key, delay);
    let send_100 = || {
        let started = Instant::now();
        (0..100).for_each(|number| deliver(&server.smtp, &other, &number.to_string(), "text"));
        started.elapsed()
    };
    let usual = send_100();
    let before = server.resident_kib();
    let mut delayed: Vec<Smtp> = (0..1_000)
        .map(|_| {
            let mut smtp = Smtp::connect(&server.smtp).unwrap();
            smtp.write(&format!(
                "MAIL FROM:<a@example.com>\r\nRCPT TO:<{slow}>\r\n"
            ))
            .unwrap();
            smtp
        })
        .collect();
    eventually("not all are delayed", || {
        faults(&server, &key, &slow)[0]["used"] == 1_000
    });
    let took = send_100();
    // The faults are used up, so mail to the slow inbox is not delayed.
    deliver(&server.smtp, &slow, "Hello", "text");
    assert_eq!(
        server.run_cli(&key, ["messages", &other]).lines().count(),
        200
    );
    println!(
        "100 messages in {took:?}, before in {usual:?}; {} KiB a connection",
        (server.resident_kib() - before) / 1_000
    );
    assert!(
        took < 3 * usual + Duration::from_secs(10),
        "{took:?}, before {usual:?}"
    );

    server.signal("TERM");
    // MAIL was answered already. The stop ends the delay.
    for smtp in &mut delayed {
        let replies = [
            smtp.reply().unwrap(),
            smtp.reply().unwrap(),
            smtp.reply().unwrap(),
        ];
        assert!(
            replies[1].starts_with("250 2.1.5") && replies[2].starts_with("421"),
            "{replies:?}"
        );
    }
    assert!(server.wait().success());
}

#[test]
fn a_killed_server_counts_every_use_once() {
    println!("{}", count_over_kills(&[]));
}

#[test]
fn a_killed_server_on_postgres_counts_every_use_once() {
    let database = TestDatabase::create();
    println!("{}", count_over_kills(&["--database", &database.text()]));
}

/// Kills a server with these flags in the middle of refusals, and compares its counts with them.
/// Returns a summary.
fn count_over_kills(flags: &[&str]) -> String {
    let rounds = std::env::var("RESTANTE_KILL_ROUNDS")
        .map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let data_dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(data_dir.path(), flags);
    let key = server.made_key().unwrap().to_owned();
    let mut answered = 0;
    let mut uncertain = 0;
    for round in 0..rounds {
        let inbox = server.run_cli(&key, ["inbox", "create"]);
        let (at, way) = WAYS[round % WAYS.len()];
        server.run_cli(
            &key,
            ["fault", &inbox, "defer", "--times", "1000", "--at", at],
        );
        let (refused, unanswered) = refused_until_killed(server, &inbox, at, way, round * 37 % 200);
        server = Server::start(data_dir.path(), flags);
        let fault = &faults(&server, &key, &inbox)[0];
        let used = fault["used"].as_u64().unwrap();
        assert_eq!(fault["uses"].as_array().unwrap().len() as u64, used);
        assert_eq!(fault["left"], 1_000 - used);
        // A use may be counted although the server was killed before its reply. There is no reply
        // without a use.
        assert!(
            (refused..=refused + unanswered).contains(&used),
            "{refused} replies, {unanswered} open, {used} used"
        );
        answered += refused;
        uncertain += used - refused;
    }
    format!(
        "{rounds} kills, {answered} uses answered, none lost; {uncertain} more counted before their reply"
    )
}

/// Has mail deferred until the server is killed, after `before_the_kill` replies. Returns the
/// replies that refused, and the number of commands without a reply.
fn refused_until_killed(
    server: Server,
    inbox: &str,
    at: &'static str,
    way: Way,
    before_the_kill: usize,
) -> (u64, u64) {
    let (sender, refusals) = channel();
    let clients: Vec<_> = (0..SENDERS)
        .map(|_| {
            let smtp = server.smtp.clone();
            let url = server.url.clone();
            let inbox = inbox.to_owned();
            let refused = sender.clone();
            thread::spawn(move || match way {
                Way::Http => refuse_over_http(&url, &inbox, &refused),
                Way::Smtp => refuse_until_the_end(&smtp, &inbox, at, &refused),
            })
        })
        .collect();
    drop(sender);
    let before = refusals.iter().take(before_the_kill).count();
    server.kill();
    let refused = before + refusals.iter().count();
    let unanswered: u64 = clients
        .into_iter()
        .map(|client| client.join().unwrap())
        .sum();
    (refused as u64, unanswered)
}

/// Sends until the server is killed, and reports every refusal. Returns the number of commands
/// without a reply.
fn refuse_until_the_end(smtp: &str, inbox: &str, at: &str, refused: &Sender<()>) -> u64 {
    let Ok(mut smtp) = Smtp::connect(smtp) else {
        return 0;
    };
    let recipient = format!("RCPT TO:<{inbox}>");
    // There are fewer refusals than the fault has uses.
    for _ in 0..240 {
        let preparation: &[&str] = if at == "rcpt" {
            &["RSET", "MAIL FROM:<>"]
        } else {
            &["MAIL FROM:<>", &recipient, "DATA"]
        };
        if preparation.iter().any(|line| smtp.say(line).is_err()) {
            return 0;
        }
        match smtp.say(if at == "rcpt" {
            &recipient
        } else {
            "Subject: x\r\n\r\ntext\r\n."
        }) {
            Ok(reply) => assert!(reply.starts_with("451 4.3.0 Deferred"), "{reply}"),
            Err(_) => return 1,
        }
        refused.send(()).unwrap();
    }
    0
}

/// The same with the API of Resend.
fn refuse_over_http(url: &str, inbox: &str, refused: &Sender<()>) -> u64 {
    let email =
        json!({"from": "a@app.example", "to": inbox, "subject": "x", "text": "text"}).to_string();
    for _ in 0..240 {
        let post = http::post(format!("{url}/send/resend/emails"))
            .header("Authorization", "Bearer re_dummy");
        match post.send(email.as_str()) {
            Err(http::Error::Status(429)) => refused.send(()).unwrap(),
            Err(_) => return 1,
            Ok(answer) => panic!("{answer:?}"),
        }
    }
    0
}

/// A client needs a file for each connection.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .unwrap();
}
