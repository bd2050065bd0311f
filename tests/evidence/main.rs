//! The cases of the decision why a message did not arrive, as text files: what is given, when which
//! wait fails, then this is the cause, and this the sentence. They run without a server.
//!
//! Times are seconds after the start of the wait, which starts ten minutes after its inbox was
//! created unless the case says otherwise. The lines of a text are compared with as many lines of
//! the report, which begins with the sentence; a case about the order of causes has none.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use regex_lite::{Captures, Regex};
use restante::evidence::{Facts, Reading, Server, advice, report};
use restante::model::{
    AcceptedDomains, Domain, EmailAddress, Features, Inbox, InboxEnd, InboxId, InboxKind, Latest,
    MessageFilter, MessageId, Period, ProjectId, RefusalReason, RefusedMail, SharedAddress,
    Similar, SmtpSession, Timestamp, TotalUse, Via, WaitEnd,
};
use restante_api::{Exchange, MissedBy};

const START: Timestamp = Timestamp::from_millis(1_795_167_000_000);
const MAIL_DOMAIN: &str = "restante.example.com";

/// What is given, in the order of the lines: the newest last.
struct Given {
    accepted: AcceptedDomains,
    inbox: Inbox,
    ended: Option<InboxEnd>,
    latest: Vec<Latest>,
    refused: Vec<RefusedMail>,
    refused_in_project: Vec<RefusedMail>,
    last_session: Option<SmtpSession>,
    own_clients: Vec<String>,
    with_mail: Vec<Similar>,
    watched: TotalUse,
}

/// What a case says about its wait, and what is expected.
#[derive(Default)]
struct Expected {
    filter: MessageFilter,
    timeout: Option<Duration>,
    expects_none: bool,
    cause: String,
    text: Vec<String>,
}

#[test]
fn every_case_has_its_cause_and_its_sentence() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evidence");
    let mut played = 0;
    let mut failed = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "case") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for case in text.split("\ncase ").skip(1) {
            let (name, lines) = case.split_once('\n').unwrap();
            played += 1;
            let (expected, found) = play(lines);
            if expected != found {
                failed.push(format!("{name}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(played > 30, "only {played} cases were found");
}

/// The expected cause and text of a case, and those that were found.
fn play(lines: &str) -> (String, String) {
    let mut given = Given::new();
    let mut expected = Expected::default();
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("given" | "and", fact)) => given.add(fact),
            Some(("when", wait)) => expected.read_wait(wait),
            Some(("then", cause)) => expected.cause = cause.to_owned(),
            Some(("", text)) => expected.text.push(text.trim_start().to_owned()),
            _ => assert_eq!(line, "", "no such line"),
        }
    }
    let text = expected.text.join("\n");
    let cause = expected.cause.clone();
    (format!("{cause}: {text}"), given.decide(&expected))
}

impl Expected {
    /// `wait 15s subject=Welcome has=otp`, `wait 15s expecting none`, or `explain subject=Welcome`.
    fn read_wait(&mut self, text: &str) {
        let word = Regex::new(r#"(\w+)=(?:"([^"]*)"|(\S+))"#).unwrap();
        for found in word.captures_iter(text) {
            let value = found.get(2).or(found.get(3)).unwrap().as_str().to_owned();
            match &found[1] {
                "subject" => self.filter.subject = Some(value),
                "from" => self.filter.from = Some(value),
                "after" => self.filter.after = Some(value),
                "client" => self.filter.client = Some(value),
                "has" => {
                    self.filter.has = Features {
                        otp: value.contains("otp"),
                        ..Features::default()
                    }
                }
                other => panic!("no filter {other}"),
            }
        }
        self.expects_none = text.ends_with("expecting none");
        let timeout = Regex::new(r"^wait (\d+)s").unwrap().captures(text);
        self.timeout = timeout.map(|found| Duration::from_secs(found[1].parse().unwrap()));
    }
}

impl Given {
    fn new() -> Self {
        Self {
            accepted: AcceptedDomains::default(),
            inbox: inbox("ada@restante.example.com", at("-600")),
            ended: None,
            latest: Vec::new(),
            refused: Vec::new(),
            refused_in_project: Vec::new(),
            last_session: None,
            own_clients: Vec::new(),
            with_mail: Vec::new(),
            watched: TotalUse {
                used: Default::default(),
                send_apis: Default::default(),
                since: at("-3600"),
            },
        }
    }

    fn add(&mut self, fact: &str) {
        type Add = fn(&mut Given, &Captures<'_>);
        let facts: [(&str, Add); 13] = [
            (r"the inbox (\S+) of (\S+)", |given, found| {
                given.inbox = inbox(&found[1], at(&found[2]));
            }),
            (r"it (expired|was deleted) at (\S+)", |given, found| {
                let at = at(&found[2]);
                given.ended = Some(match &found[1] {
                    "expired" => InboxEnd::Expired(at),
                    _ => InboxEnd::Deleted(at),
                });
            }),
            (
                r#"mail at (\S+) "(.*)" from (\S+)(?: missed by (.+))?"#,
                |given, found| {
                    let names = found.get(4).map_or("", |names| names.as_str());
                    let missed = names.split_whitespace();
                    given.latest.insert(
                        0,
                        Latest {
                            id: MessageId::generate(),
                            subject: found[2].to_owned(),
                            from: found[3].to_owned(),
                            received_at: at(&found[1]),
                            missed_by: missed
                                .map(|name| MissedBy::of_word(name).unwrap().as_str())
                                .collect(),
                            found: Vec::new(),
                        },
                    );
                },
            ),
            (
                r"(\w+) of mail to (\S+) at (\S+) by (\S+?)( with a key)?: (.*)",
                |given, found| given.add_refusal(found),
            ),
            (
                r"(\w+) of a session() at (\S+) by (\S+?)( with a key)?: (.*)",
                |given, found| given.add_refusal(found),
            ),
            (
                r"a session at (\S+) by (\S+) (that left after|whose message was answered) (.*)",
                |given, found| {
                    given.last_session = Some(SmtpSession {
                        id: uuid::Uuid::nil(),
                        named: Vec::new(),
                        project: None,
                        client: found[2].to_owned(),
                        tls: None,
                        has_failed: true,
                        started_at: at(&found[1]),
                        ended_at: at(&found[1]),
                        exchanges: vec![Exchange {
                            command: match &found[3] {
                                "that left after" => "DATA".into(),
                                _ => "(message)".into(),
                            },
                            reply: found[4].to_owned().into(),
                        }],
                    });
                },
            ),
            (r"the known client (\S+)", |given, found| {
                given.own_clients.push(found[1].to_owned());
            }),
            (
                r"other mail to (\S+) at (\S+?)(, which created it)?",
                |given, found| {
                    let of_other = inbox(&found[1], START);
                    given.with_mail.insert(
                        0,
                        Similar {
                            id: of_other.id,
                            shared: of_other.shared,
                            messages: 1,
                            last_received_at: at(&found[2]),
                            opened_by_mail: found.get(3).is_some(),
                        },
                    );
                },
            ),
            (r"a connection at (\S+)", |given, found| {
                given.watched.used.last_connection_at = Some(at(&found[1]));
            }),
            (r"a stored message at (\S+)", |given, found| {
                given.watched.used.last_message_at = Some(at(&found[1]));
            }),
            (r"the API of Resend used at (\S+)", |given, found| {
                let apis = Via::SEND_APIS.into_iter();
                let place = apis
                    .map(Via::title)
                    .position(|title| title.contains("Resend"));
                given.watched.send_apis.0[place.unwrap()] = Some(at(&found[1]));
            }),
            (r"the service started at (\S+)", |given, found| {
                given.watched.since = at(&found[1]);
            }),
            (r"the accepted domains (\S+)", |given, found| {
                given.accepted = found[1].parse().unwrap();
            }),
        ];
        for (pattern, add) in facts {
            let pattern = Regex::new(&format!("^{pattern}$")).unwrap();
            if let Some(found) = pattern.captures(fact) {
                return add(self, &found);
            }
        }
        panic!("no such fact: {fact}");
    }

    fn add_refusal(&mut self, found: &Captures<'_>) {
        let recipient = &found[2];
        let is_foreign = |address: &EmailAddress| address.domain().as_str() != MAIL_DOMAIN;
        let address = EmailAddress::parse(recipient).ok();
        let local = recipient.split('@').next().unwrap();
        let authenticated = found.get(5).is_some();
        let refused = RefusedMail {
            peer: found[4].to_owned(),
            sender: "<app@app.example>".to_owned(),
            recipient: format!("<{recipient}>"),
            inbox: address.as_ref().and_then(|_| InboxId::parse(local).ok()),
            authenticated,
            reason: RefusalReason::from_label(found[1].to_owned()),
            reply: found[6].to_owned(),
            refused_at: at(&found[3]),
        };
        let is_session = recipient.is_empty();
        if is_session || refused.inbox.as_ref() == Some(&self.inbox.id) {
            self.refused.insert(0, refused.clone());
        }
        if !is_session || authenticated || address.as_ref().is_some_and(is_foreign) {
            self.refused_in_project.insert(0, refused);
        }
    }

    fn decide(self, expected: &Expected) -> String {
        let mail_domain = Domain::parse(MAIL_DOMAIN).unwrap();
        let ended_at = expected.timeout.map(|timeout| START.after(timeout));
        let period = match ended_at {
            Some(until) => Period {
                since: at("-300").max(self.inbox.created_at),
                started_at: START,
                until,
            },
            None => Period::of_inbox(&self.inbox, START),
        };
        let end = match self.latest.first() {
            _ if self.ended.is_some() => WaitEnd::InboxEnded,
            Some(found) if expected.expects_none => WaitEnd::Unexpected(found.id),
            _ => WaitEnd::Timeout,
        };
        let facts = Facts {
            server: Server {
                mail_domain: &mail_domain,
                accepted: &self.accepted,
            },
            inbox: &self.inbox,
            period,
            ended: self.ended,
            end: expected.timeout.map(|_| end),
            filter: &expected.filter,
            messages: i64::try_from(self.latest.len()).unwrap(),
            latest: self.latest,
            refused: self.refused,
            refused_in_project: self.refused_in_project,
            last_session: self.last_session,
            own_clients: self.own_clients,
            with_mail: self.with_mail,
            watched: self.watched,
        };
        let (finding, evidence) = facts.decide();
        let sentence = finding.sentence.read(Reading {
            now: START,
            ended_at,
            smtp_address: "127.0.0.1:1025",
        });
        assert!(
            sentence.what_to_do().is_some() || !advice(finding.cause).is_empty(),
            "{sentence}"
        );
        let text = report(&sentence, &evidence, &expected.filter, &mail_domain);
        let lines: Vec<_> = text.lines().map(str::trim_start).collect();
        let compared = expected.text.len().min(lines.len());
        format!("{}: {}", finding.cause, lines[..compared].join("\n"))
    }
}

fn inbox(address: &str, created_at: Timestamp) -> Inbox {
    let (local, domain) = address.split_once('@').unwrap();
    Inbox {
        id: InboxId::parse(local).unwrap(),
        shared: (domain != MAIL_DOMAIN).then(|| SharedAddress::from_stored(address.to_owned())),
        project: ProjectId(uuid::Uuid::nil()),
        kind: InboxKind::Temporary,
        created_at,
        expires_at: None,
    }
}

/// So many seconds after the start of the wait.
fn at(seconds: &str) -> Timestamp {
    let seconds: f64 = seconds.parse().unwrap();
    let span = Duration::from_secs_f64(seconds.abs());
    match seconds < 0.0 {
        true => START.before(span),
        false => START.after(span),
    }
}
