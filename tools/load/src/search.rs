//! Searches in many messages with the dashboard's page Find, and follows the steps until the search
//! is over.

use std::time::{Duration, Instant};

use crate::figures::grouped;
use crate::http::Http;
use crate::options::{Search, Traffic};
use crate::sending::{Recipients, Run};
use crate::server::{KEY, Server, pin_load, runtime};

const MESSAGES_AN_INBOX: u64 = 10;
/// Sessions that send the messages.
const SESSIONS: usize = 20;
/// What is searched for. Every message has the code; only the first one, which is compared last,
/// has its number.
const SEARCHES: [(&str, &str); 3] = [
    ("a word of every text", "481516"),
    (
        "the oldest message by its subject",
        "subject:%22load+0000000000%22",
    ),
    ("a word of no text", "pears"),
];

/// A browser that is signed in to the dashboard.
struct Visitor {
    http: Http,
    header: String,
    project: String,
}

pub(crate) fn run(options: &Search) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Search) -> bool {
    let server = Server::start(&options.program.place, &options.program.restante, &[]);
    let inboxes = options.messages.div_ceil(MESSAGES_AN_INBOX);
    let recipients = Recipients::rotation(inboxes, "restante.example.com");
    let traffic = Traffic::count(SESSIONS, options.messages);
    let outcome = Run::new(&traffic, server.smtp.clone(), recipients)
        .send(Vec::new())
        .await
        .outcome();
    println!("{} messages held", grouped(outcome.taken as f64));

    let mut visitor = Visitor::sign_in(&server.http).await;
    for (what, query) in SEARCHES {
        let (first, whole, steps, said) = visitor.search(query).await;
        println!(
            "  {what:<34} first answer {first:>7.0?}   {steps:>4} steps in {whole:>7.1?}   {said}"
        );
    }
    outcome.failed == 0
}

impl Visitor {
    async fn sign_in(address: &str) -> Self {
        let mut http = Http::connect(address).await.unwrap();
        let host = format!("Host: {address}\r\n");
        let form = format!(
            "{host}Origin: http://{address}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        );
        let (status, head, _) = http
            .browse("POST", "/sign-in", &form, &format!("secret={KEY}"))
            .await
            .unwrap();
        assert_eq!(status, 303, "{head}");
        let cookie = field(&head, "set-cookie: ")
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let header = format!("{host}Cookie: {cookie}\r\nX-Part: 1\r\n");
        let (_, head, _) = http.browse("GET", "/", &header, "").await.unwrap();
        let project = field(&head, "location: ")
            .rsplit_once('/')
            .unwrap()
            .0
            .to_owned();
        Self {
            http,
            header,
            project,
        }
    }

    /// How long the first answer took, and the whole search; how many steps it had, and what it
    /// says at the end.
    async fn search(&mut self, query: &str) -> (Duration, Duration, usize, String) {
        let started = Instant::now();
        let mut steps = 0;
        let mut first = Duration::ZERO;
        let mut path = format!("{}/find?q={query}", self.project);
        loop {
            let (status, _, body) = self
                .http
                .browse("GET", &path, &self.header, "")
                .await
                .unwrap();
            assert_eq!(status, 200);
            steps += 1;
            if steps == 1 {
                first = started.elapsed();
            }
            let page = String::from_utf8(body).unwrap();
            match page.split_once("\" data-continue=\"auto\"") {
                Some((before, _)) => {
                    path = before.rsplit('"').next().unwrap().replace("&#38;", "&");
                }
                None => return (first, started.elapsed(), steps, sentence(&page)),
            }
        }
    }
}

/// What the page says about the progress of the search.
fn sentence(page: &str) -> String {
    let after = page
        .split_once("data-searched>")
        .map_or("", |(_, after)| after);
    after
        .split('<')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn field<'h>(head: &'h str, name: &str) -> &'h str {
    let mut lines = head.lines().filter(|line| {
        line.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    });
    lines.next().map(|line| &line[name.len()..]).expect(name)
}
