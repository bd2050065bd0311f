//! Mail over the API of each provider and over SMTP at the same time, all at the same rate. Shows
//! whether a message is lost, how long the answers take, and the memory of the server.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::figures::{Sample, mebibytes};
use crate::http::Http;
use crate::ingest::missing;
use crate::mail::{subject, text};
use crate::options::{Apis, Traffic};
use crate::sending::{Recipients, Run};
use crate::server::{Server, pin_load, runtime};

/// Connections to each API, and SMTP sessions.
const CONNECTIONS: usize = 8;
/// The inboxes of each way to send, which receive its mail in turn.
const INBOXES: u64 = 10;
const JSON: &str = "application/json";
const FORM: &str = "multipart/form-data; boundary=load";

/// The API of a provider.
struct Api {
    name: &'static str,
    path: &'static str,
    content_type: &'static str,
    /// The body of a request, with the address, the subject and the text of the message.
    body: fn(&str, &str, &str) -> String,
}

const APIS: [Api; 5] = [
    Api {
        name: "SES",
        path: "/send/ses/v2/email/outbound-emails",
        content_type: JSON,
        body: ses,
    },
    Api {
        name: "Resend",
        path: "/send/resend/emails",
        content_type: JSON,
        body: resend,
    },
    Api {
        name: "SendGrid",
        path: "/send/sendgrid/v3/mail/send",
        content_type: JSON,
        body: sendgrid,
    },
    Api {
        name: "Postmark",
        path: "/send/postmark/email",
        content_type: JSON,
        body: postmark,
    },
    Api {
        name: "Mailgun",
        path: "/send/mailgun/v3/shop.test/messages",
        content_type: FORM,
        body: mailgun,
    },
];

/// The load on one API.
struct Load {
    api: &'static Api,
    http: String,
    recipients: Recipients,
    text: String,
    messages: u64,
    rate: u64,
    started: Instant,
    next: AtomicU64,
}

/// A message, and how long after it was due its answer came.
type Answered = (u64, io::Result<Duration>);

/// The answers to the messages that were sent in one way.
struct Outcome {
    name: &'static str,
    recipients: Recipients,
    answered: Vec<Answered>,
}

pub(crate) fn run(options: &Apis) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Apis) -> bool {
    let server = Server::start(&options.program.place, &options.program.restante, &[]);
    let rest = server.process().resident();
    let started = Instant::now();
    let apis = APIS.iter().map(|api| {
        tokio::spawn(over_http(
            options.clone(),
            api,
            server.http.clone(),
            started,
        ))
    });
    let apis: Vec<_> = apis.collect();
    let mut outcomes = vec![over_smtp(options, server.smtp.clone()).await];
    for api in apis {
        outcomes.push(api.await.unwrap());
    }
    println!(
        "{} messages per second in each of {} ways, {} s",
        options.rate,
        outcomes.len(),
        options.seconds
    );
    println!(
        "\n| way | messages | failed | lost | due to answer, p50 | p99 | max |\n|---|---|---|---|---|---|---|"
    );
    let mut is_all_stored = true;
    for outcome in outcomes {
        is_all_stored &= outcome.print(&server.http).await;
    }
    println!(
        "\nmemory at rest {}, peak {}",
        mebibytes(rest),
        mebibytes(server.process().peak())
    );
    is_all_stored
}

fn recipients(name: &str) -> Recipients {
    let address = |number| format!("{}{number}@restante.example.com", name.to_lowercase());
    Recipients::Each((0..INBOXES).map(address).collect())
}

async fn over_smtp(options: &Apis, address: String) -> Outcome {
    let messages = options.rate * options.seconds;
    let recipients = recipients("SMTP");
    let traffic = Traffic {
        rate: Some(options.rate),
        size: options.size,
        ..Traffic::count(CONNECTIONS, messages)
    };
    let sending = Run::new(&traffic, address, recipients.clone())
        .send(Vec::new())
        .await;
    let mut answered: Vec<Answered> = sending
        .sent()
        .map(|(number, due, sent)| (*number, Ok(sent.answered - sending.started - *due)))
        .collect();
    let failed = messages - answered.len() as u64;
    answered.extend((0..failed).map(|_| (0, Err(io::ErrorKind::Other.into()))));
    Outcome {
        name: "SMTP",
        recipients,
        answered,
    }
}

async fn over_http(options: Apis, api: &'static Api, http: String, started: Instant) -> Outcome {
    let recipients = recipients(api.name);
    let text = text(options.size);
    let next = AtomicU64::new(0);
    let messages = options.rate * options.seconds;
    let rate = options.rate;
    let load = Load {
        api,
        http,
        recipients: recipients.clone(),
        text,
        messages,
        rate,
        started,
        next,
    };
    let load = Arc::new(load);
    let mut connections = JoinSet::new();
    (0..CONNECTIONS).for_each(|_| _ = connections.spawn(Arc::clone(&load).send()));
    let answered = connections.join_all().await.into_iter().flatten().collect();
    Outcome {
        name: api.name,
        recipients,
        answered,
    }
}

impl Load {
    /// One connection, from its first message to its last.
    async fn send(self: Arc<Self>) -> Vec<Answered> {
        let mut http = Http::connect(&self.http).await.unwrap();
        let mut answered = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.messages {
                return answered;
            }
            let due = self.started + Duration::from_secs_f64(number as f64 / self.rate as f64);
            tokio::time::sleep_until(due.into()).await;
            let body = (self.api.body)(
                &self.recipients.address(number),
                &subject(number),
                &self.text,
            );
            let result = match http.post(self.api.path, self.api.content_type, &body).await {
                Ok((200..=202, _)) => Ok(due.elapsed()),
                Ok((status, body)) => Err(io::Error::other(format!(
                    "{status} {}",
                    body.escape_ascii()
                ))),
                Err(error) => {
                    http = Http::connect(&self.http).await.unwrap();
                    Err(error)
                }
            };
            answered.push((number, result));
        }
    }
}

impl Outcome {
    /// Prints a row; returns whether every message was accepted and is stored.
    async fn print(self, http: &str) -> bool {
        let accepted = self
            .answered
            .iter()
            .filter_map(|(number, result)| Some((*number, *result.as_ref().ok()?)));
        let (numbers, times): (HashSet<u64>, Vec<Duration>) = accepted.unzip();
        let sent = numbers.len();
        let failed = self.answered.len() - numbers.len();
        let lost = missing(http, &self.recipients, numbers).await;
        let sample = Sample::new(times);
        let [p50, p99, most] = [50.0, 99.0, 100.0].map(|percent| sample.percentile(percent));
        println!(
            "| {} | {sent} | {failed} | {lost} | {p50:.1} ms | {p99:.1} ms | {most:.0} ms |",
            self.name
        );
        if let Some((_, Err(error))) = self.answered.iter().find(|(_, result)| result.is_err()) {
            println!("  FAILED: {error}");
        }
        failed == 0 && lost == 0
    }
}

fn ses(to: &str, subject: &str, text: &str) -> String {
    let content =
        json!({"Simple": {"Subject": {"Data": subject}, "Body": {"Text": {"Data": text}}}});
    let to = json!({"ToAddresses": [to]});
    json!({"FromEmailAddress": "app@shop.test", "Destination": to, "Content": content}).to_string()
}

fn resend(to: &str, subject: &str, text: &str) -> String {
    json!({"from": "app@shop.test", "to": [to], "subject": subject, "text": text}).to_string()
}

fn sendgrid(to: &str, subject: &str, text: &str) -> String {
    let to = json!([{"to": [{"email": to}]}]);
    let content = json!([{"type": "text/plain", "value": text}]);
    let from = json!({"email": "app@shop.test"});
    json!({"personalizations": to, "from": from, "subject": subject, "content": content})
        .to_string()
}

fn postmark(to: &str, subject: &str, text: &str) -> String {
    json!({"From": "app@shop.test", "To": to, "Subject": subject, "TextBody": text}).to_string()
}

fn mailgun(to: &str, subject: &str, text: &str) -> String {
    let fields = [
        ("from", "app@shop.test"),
        ("to", to),
        ("subject", subject),
        ("text", text),
    ];
    let part = |(name, value)| {
        format!("--load\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    fields.map(part).concat() + "--load--\r\n"
}
