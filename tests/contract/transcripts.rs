//! What the timeline of an inbox shows of an SMTP session: one transaction, and no other recipient.

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use restante::model::ApiKey;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::smtp::{Client, Smtp};
use testkit::{Engine, Harness, MAIL_DOMAIN};

const STORED: &str = "Subject: Hello\r\n\r\nHello";
const REFUSED: &str = "a bare\nline feed";

/// One step of a client.
#[derive(Clone, Copy, Debug)]
enum Step {
    Say(&'static str),
    Mail,
    /// To the first or the second inbox.
    Rcpt(usize),
    /// DATA, and the message if it is wanted.
    Data(&'static str),
}

/// The commands of an SMTP session in the timeline of an inbox, each with its reply.
type Lines = Vec<(String, String)>;

/// The sessions in the timeline of an inbox.
async fn sessions(api: &Harness, key: &ApiKey, inbox: &str) -> Vec<Lines> {
    let timeline = api
        .call_with(key, "GET", &format!("/v1/inboxes/{inbox}/events"), "")
        .await
        .json();
    let events = timeline["events"].as_array().unwrap();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let lines = |event: &Value| {
        let commands = event["commands"].as_array().unwrap();
        commands
            .iter()
            .map(|line| (text(line, "command"), text(line, "reply")))
            .collect()
    };
    events
        .iter()
        .filter(|event| event["kind"] == "smtp")
        .map(lines)
        .collect()
}

/// Plays the steps, and ends an open transaction. Returns how often each inbox was accepted as a
/// recipient.
async fn play(client: &mut Client, steps: &[Step], inboxes: [&str; 2]) -> [usize; 2] {
    let mut accepted = [0; 2];
    for (number, step) in steps.iter().chain([&Step::Say("RSET")]).enumerate() {
        match step {
            Step::Say(line) => _ = client.say(line).await,
            // A transaction is recognised by its sender.
            Step::Mail => {
                _ = client
                    .say(&format!("MAIL FROM:<s{number}@app.example>"))
                    .await;
            }
            Step::Rcpt(which) => {
                let reply = client
                    .say(&format!("RCPT TO:<{}@{MAIL_DOMAIN}>", inboxes[*which]))
                    .await;
                accepted[*which] += usize::from(reply.starts_with("250"));
            }
            Step::Data(message) => {
                if client.say("DATA").await.starts_with("354") {
                    client.say(&format!("{message}\r\n.")).await;
                }
            }
        }
    }
    accepted
}

/// Checks the sessions of an inbox that was accepted this often, and returns their number.
fn check(sessions: &[Lines], inbox: &str, other: &str, accepted: usize) -> usize {
    let count = |lines: &Lines, start: &str| {
        lines
            .iter()
            .filter(|(command, _)| command.starts_with(start))
            .count()
    };
    for lines in sessions {
        assert!(!format!("{lines:?}").contains(other), "{lines:?}");
        assert!(
            count(lines, "MAIL FROM:<s") <= 1 && count(lines, "(message)") <= 1,
            "{lines:?}"
        );
    }
    let own = format!("RCPT TO:<{inbox}@{MAIL_DOMAIN}>");
    let shown = sessions
        .iter()
        .flatten()
        .filter(|(command, reply)| *command == own && reply.starts_with("250"));
    assert_eq!(shown.count(), accepted, "{sessions:?}");
    sessions.len()
}

/// Plays the steps to inboxes of two projects. Returns the sessions of each.
async fn play_and_check(api: &Harness, smtp: &Smtp, steps: &[Step]) -> [Vec<Lines>; 2] {
    let one = api.create_inbox().await;
    let other = api.create_inbox_with(&api.other_key).await;
    let accepted = play(&mut smtp.client().await, steps, [&one, &other]).await;
    let shown = [
        sessions(api, &api.key, &one).await,
        sessions(api, &api.other_key, &other).await,
    ];
    check(&shown[0], &one, &other, accepted[0]);
    check(&shown[1], &other, &one, accepted[1]);
    shown
}

#[testkit::each_engine]
async fn a_transaction_goes_on_after_data_without_a_recipient(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let steps = [
        Step::Mail,
        Step::Data(STORED),
        Step::Rcpt(0),
        Step::Data(STORED),
    ];
    let [one, other] = play_and_check(
        &api,
        &smtp,
        &[&steps[..], &[Step::Mail, Step::Rcpt(1)]].concat(),
    )
    .await;
    let commands: Vec<_> = one[0]
        .iter()
        .map(|(command, _)| command.split([':', ' ']).next().unwrap())
        .collect();
    assert!(
        commands.ends_with(&["EHLO", "MAIL", "DATA", "RCPT", "DATA", "(message)"]),
        "{one:?}"
    );
    assert_eq!((one.len(), other.len()), (1, 1));
}

#[testkit::each_engine]
async fn a_greeting_ends_the_transaction(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let second = [Step::Mail, Step::Rcpt(1), Step::Data(STORED)];
    for greeting in ["EHLO app.example", "HELO app.example"] {
        let first = [Step::Mail, Step::Rcpt(0), Step::Say(greeting)];
        let [one, other] = play_and_check(&api, &smtp, &[first, second].concat()).await;
        assert!(
            !format!("{one:?}").contains("Stored") && format!("{other:?}").contains("Stored"),
            "{one:?} {other:?}"
        );
    }
}

#[testkit::each_engine]
async fn a_line_that_is_no_command_is_not_shown_as_the_command_before_it(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let steps = [
        Step::Mail,
        Step::Rcpt(0),
        Step::Data(STORED),
        Step::Mail,
        Step::Say("UNKNOWN"),
        Step::Rcpt(0),
    ];
    let [one, _] = play_and_check(&api, &smtp, &steps).await;
    let refused: Vec<_> = one
        .iter()
        .flatten()
        .filter(|(_, reply)| reply.starts_with("500"))
        .collect();
    assert!(
        matches!(refused[..], [(command, _)] if command == "(no command)"),
        "{one:?}"
    );
}

#[testkit::each_engine]
async fn a_message_after_another_has_its_own_sender(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let send = [Step::Mail, Step::Rcpt(0), Step::Data(STORED)];
    let [one, _] = play_and_check(&api, &smtp, &[send, send].concat()).await;
    let senders = one
        .iter()
        .flatten()
        .filter(|(command, _)| command.starts_with("MAIL FROM:<s"));
    assert_eq!(senders.count(), 2, "{one:?}");
}

#[test]
fn no_sequence_of_commands_shows_another_recipient_or_another_transaction() {
    const SAYS: [&str; 7] = [
        "EHLO app.example",
        "HELO app.example",
        "RSET",
        "NOOP",
        "UNKNOWN",
        "RCPT TO:<malformed",
        "MAIL FROM:<",
    ];
    let step = proptest::prop_oneof![
        3 => select(&SAYS[..]).prop_map(Step::Say),
        3 => proptest::prelude::Just(Step::Mail),
        4 => select(&[0, 1][..]).prop_map(Step::Rcpt),
        3 => select(&[STORED, REFUSED][..]).prop_map(Step::Data),
    ];
    let runtime = Runtime::new().unwrap();
    let (api, smtp) = runtime.block_on(async {
        let api = Harness::start().await;
        let smtp = Smtp::start(&api).await;
        (api, smtp)
    });
    let mut runner = TestRunner::new(Config {
        cases: 100,
        failure_persistence: None,
        ..Config::default()
    });
    let shown = std::cell::Cell::new(0);
    runner
        .run(&vec(step, 4..20), |steps| {
            let [one, other] = runtime.block_on(play_and_check(&api, &smtp, &steps));
            shown.set(shown.get() + one.len() + other.len());
            Ok(())
        })
        .unwrap();
    assert!(shown.get() > 100, "{}", shown.get());
}
