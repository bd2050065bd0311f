//! One client: a project, its inboxes, and what the client was told about them.

use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::asker::Asker;
use crate::contract;
use crate::dashboard::Pages;
use crate::http::{Answer, Request};
use crate::journal::{DOMAIN, Inbox, Told};
use crate::mail::{self, Mail, Outcome};
use crate::scenarios;
use crate::world::World;

/// How long a client repeats a request that must succeed in the end.
pub(crate) const EVENT_TIMEOUT: Duration = Duration::from_secs(40);
/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// The text of most messages.
pub(crate) const CODE: &str = "Your code is 4821.";

pub(crate) struct Client<'a> {
    pub(crate) world: &'a World,
    pub(crate) number: usize,
    pub(crate) key: &'a str,
    pub(crate) random: StdRng,
    pub(crate) inboxes: Vec<Inbox>,
    pub(crate) asker: Asker<'a>,
    pub(crate) pages: Option<Pages>,
    /// Addresses of inboxes of which it is not known whether they are deleted.
    pub(crate) lost: Vec<String>,
    next_token: u64,
    /// Messages of inboxes that have expired.
    checked: usize,
}

impl<'a> Client<'a> {
    pub(crate) fn new(world: &'a World, number: usize) -> Self {
        let random = StdRng::seed_from_u64(
            world
                .seed
                .wrapping_mul(1_000_003)
                .wrapping_add(number as u64),
        );
        let key = &world.keys[number];
        Self {
            world,
            number,
            key,
            random,
            inboxes: Vec::new(),
            asker: Asker::new(world, key),
            pages: None,
            lost: Vec::new(),
            next_token: 0,
            checked: 0,
        }
    }

    /// Works until the end of the run, and then checks everything. Returns how many messages were
    /// acknowledged.
    pub(crate) fn run(mut self) -> usize {
        while self.world.goes_on() {
            scenarios::one(&mut self);
            self.settle();
        }
        while !self.world.failures_ended() {
            thread::sleep(PAUSE);
        }
        self.check_inboxes();
        if self.number == 0 {
            scenarios::slots(&mut self);
        }
        self.checked + self.inboxes.iter().map(acknowledged).sum::<usize>()
    }

    /// A number for the subject of a message, in increasing order.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    pub(crate) fn subject(&self, token: u64) -> String {
        format!("mail {}-{token}-", self.number)
    }

    /// One of the nodes.
    pub(crate) fn node(&mut self) -> usize {
        self.random.random_range(0..self.world.nodes.count())
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// An inbox that is not deleted: an old one or a new one.
    pub(crate) fn inbox(&mut self) -> Option<usize> {
        let live: Vec<usize> = (0..self.inboxes.len())
            .filter(|index| self.inboxes[*index].is_usable())
            .collect();
        if self.chance(60)
            && let Some(index) = live.choose(&mut self.random)
        {
            return Some(*index);
        }
        self.create()
    }

    /// Creates an inbox.
    pub(crate) fn create(&mut self) -> Option<usize> {
        let seeded = format!("user{}@example.com", self.inboxes.len() % 5);
        let known =
            self.inboxes.iter().any(|inbox| inbox.address == seeded) || self.lost.contains(&seeded);
        let request = if self.chance(25) && !known {
            Request::put(
                "/v1/inboxes/{id}",
                format!("/v1/inboxes/{seeded}"),
                json!({}),
            )
        } else {
            Request::post("/v1/inboxes", "/v1/inboxes", json!({}))
        };
        let asked = Instant::now();
        let answer = self.until_answered(&request)?;
        if !matches!(answer.status, 200 | 201) {
            self.world
                .find("an inbox is created", format!("{request:?}: {answer:?}"));
            return None;
        }
        let text = |field: &str| answer.body[field].as_str().unwrap_or_default().to_owned();
        self.world
            .foreign
            .lock()
            .unwrap()
            .push((self.number, text("id")));
        self.inboxes
            .push(Inbox::new(text("id"), text("address"), asked));
        Some(self.inboxes.len() - 1)
    }

    /// Sends the message with this token to inboxes over SMTP, and writes down what was answered.
    pub(crate) fn mail(&mut self, token: u64, inboxes: &[usize]) -> Outcome {
        let outcome = self.try_mail(token, inboxes);
        let rejected = matches!(&outcome.0, Outcome::Reply(reply) if reply.starts_with('5'));
        if rejected || (outcome.0 != Outcome::Accepted && outcome.1) {
            self.world.find(
                "mail to a live inbox is accepted",
                format!("message {token}: {:?}", outcome.0),
            );
        }
        outcome.0
    }

    /// The same; the outcome may be any, because a fault was requested. Also returns whether
    /// nothing failed meanwhile.
    pub(crate) fn try_mail(&mut self, token: u64, inboxes: &[usize]) -> (Outcome, bool) {
        self.try_text(token, inboxes, CODE)
    }

    /// The same with a text.
    pub(crate) fn try_text(
        &mut self,
        token: u64,
        inboxes: &[usize],
        text: &str,
    ) -> (Outcome, bool) {
        let node = self.node();
        let shared = inboxes
            .iter()
            .any(|index| !self.inboxes[*index].address.ends_with(DOMAIN));
        let tag = self.chance(15) && inboxes.iter().all(|index| self.inboxes[*index].has_tags);
        let recipients: Vec<String> = inboxes
            .iter()
            .map(|index| self.recipient(*index, tag))
            .collect();
        let key = (shared || self.chance(30)).then_some(self.key);
        let mail = Mail {
            recipients: &recipients,
            subject: &self.subject(token),
            text,
            key,
        };
        let before = self.world.moment();
        let outcome = self.world.nodes.with(node, |server| server.smtp.clone());
        let send = |address: String| self.world.deliver(node, || mail::send(&address, &mail));
        let outcome = outcome.map_or(Outcome::NotSent, send);
        let told = Told::by(&outcome);
        inboxes
            .iter()
            .for_each(|index| self.tell(*index, token, told));
        self.world.count(if told == Told::Stored(1) {
            "messages acknowledged"
        } else {
            "messages not acknowledged"
        });
        (outcome, self.world.peaceful_since(before))
    }

    /// Sends messages to an inbox at the same time, and writes down what was answered.
    pub(crate) fn mail_together(&mut self, inbox: usize, count: usize) -> Vec<Outcome> {
        let tokens: Vec<u64> = (0..count).map(|_| self.token()).collect();
        let subjects: Vec<String> = tokens.iter().map(|token| self.subject(*token)).collect();
        let address = self.inboxes[inbox].address.clone();
        let recipients = [address.clone()];
        let key = (!address.ends_with(DOMAIN)).then_some(self.key);
        let mails: Vec<_> = subjects
            .iter()
            .map(|subject| {
                (
                    self.node(),
                    Mail {
                        recipients: &recipients,
                        subject,
                        text: CODE,
                        key,
                    },
                )
            })
            .collect();
        let outcomes = mail::send_together(self.world, &mails);
        for (token, outcome) in tokens.into_iter().zip(&outcomes) {
            let told = if *outcome == Outcome::Accepted {
                Told::StoredBeside
            } else {
                Told::by(outcome)
            };
            self.tell(inbox, token, told);
        }
        outcomes
    }

    pub(crate) fn tell(&mut self, inbox: usize, token: u64, told: Told) {
        self.inboxes[inbox].mail.insert(token, told);
    }

    fn recipient(&self, inbox: usize, tag: bool) -> String {
        let address = &self.inboxes[inbox].address;
        if tag {
            address.replacen('@', "+tag@", 1)
        } else {
            address.clone()
        }
    }

    /// Repeats a request on any node until it is answered with something else than 503 or a missing
    /// slot.
    pub(crate) fn until_answered(&mut self, request: &Request) -> Option<Answer> {
        let since = Instant::now();
        while since.elapsed() < EVENT_TIMEOUT {
            let node = self.node();
            match self.asker.ask(node, request) {
                Some(Answer {
                    status: 429 | 500 | 503,
                    ..
                })
                | None => thread::sleep(PAUSE),
                Some(answer) => return Some(answer),
            }
        }
        self.world.find(
            "a repeated request is answered in the end",
            format!("{request:?}"),
        );
        None
    }

    /// Lists an inbox on some node: the tokens, oldest first. `None` if the inbox is not found.
    pub(crate) fn list(&mut self, inbox: usize) -> Option<Vec<u64>> {
        let path = format!("/v1/inboxes/{}/messages", self.inboxes[inbox].id);
        let answer = self.until_answered(&Request::get("/v1/inboxes/{id}/messages", path))?;
        if answer.status == 404 && contract::error(&answer.body) == "inbox not found" {
            return None;
        }
        let messages = answer.body["messages"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Some(
            messages
                .iter()
                .rev()
                .map(|message| self.token_of(message))
                .collect(),
        )
    }

    /// The token of a message; mail of another client is a finding.
    pub(crate) fn token_of(&self, message: &Value) -> u64 {
        let subject = message["subject"].as_str().unwrap_or_default();
        let mut parts = subject.strip_prefix("mail ").unwrap_or_default().split('-');
        let owner = parts.next().and_then(|part| part.parse().ok());
        let token = parts.next();
        if owner != Some(self.number) {
            self.world.find(
                "no mail reaches another project",
                format!("client {}: {message}", self.number),
            );
        }
        token.and_then(|token| token.parse().ok()).unwrap_or(0)
    }

    /// Compares inboxes that expire soon with what this client was told, and looks for those that
    /// have expired.
    fn settle(&mut self) {
        for index in (0..self.inboxes.len()).rev() {
            let inbox = &self.inboxes[index];
            if !inbox.deleted && !inbox.checked && inbox.lives() && !inbox.is_usable() {
                self.check_inbox(index);
                self.inboxes[index].checked = true;
            } else if inbox.has_expired() {
                if let Some(listed) = self.list(index) {
                    let detail = format!("{:?}: listed {listed:?}", self.inboxes[index]);
                    self.world
                        .find("an inbox is not found after its time", detail);
                }
                self.checked += acknowledged(&self.inboxes[index]);
                self.world.count("inboxes expired");
                self.inboxes.swap_remove(index);
            }
        }
    }

    /// Compares every inbox with what this client was told.
    fn check_inboxes(&mut self) {
        (0..self.inboxes.len()).for_each(|index| self.check_inbox(index));
    }

    fn check_inbox(&mut self, index: usize) {
        let found = self.list(index);
        match (found, self.inboxes[index].deleted) {
            _ if !self.inboxes[index].lives() => {}
            (Some(listed), false) => {
                for (promise, detail) in self.inboxes[index].check(&listed) {
                    self.world.find(promise, detail);
                }
            }
            (None, true) => {}
            (found, deleted) => {
                let detail = format!(
                    "{}: deleted {deleted}, listed {found:?}",
                    self.inboxes[index].address
                );
                self.world
                    .find("an inbox is found until it is deleted", detail);
            }
        }
    }
}

/// How many messages were acknowledged.
fn acknowledged(inbox: &Inbox) -> usize {
    inbox
        .mail
        .values()
        .filter(|told| matches!(told, Told::Stored(_) | Told::StoredBeside))
        .count()
}
