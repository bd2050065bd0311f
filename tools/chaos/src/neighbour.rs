//! A project without load: how long its requests take while the others work and nothing fails.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::asker::Asker;
use crate::http::Request;
use crate::mail::{Mail, Outcome, send};
use crate::report;
use crate::world::World;

/// Rounds after all others have finished.
const RESTING: usize = 50;
/// Sockets that a node may have open at any time: those of the clients, and those of its database.
const MAX_BUSY_SOCKETS: usize = 400;
/// How often it works.
const EVERY: Duration = Duration::from_millis(200);

pub(crate) struct Neighbour<'a> {
    world: &'a World,
    key: &'a str,
    asker: Asker<'a>,
}

impl<'a> Neighbour<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        let key = world.keys.last().expect("it has a key");
        Self {
            world,
            key,
            asker: Asker::new(world, key),
        }
    }

    /// Creates an inbox, sends mail to it and waits, repeatedly. Returns how long this took in
    /// peace.
    pub(crate) fn run(self) -> Vec<Duration> {
        let mut took = Vec::new();
        while self.world.goes_on() {
            report::bounded(self.world, MAX_BUSY_SOCKETS);
            let before = self.world.moment();
            let started = Instant::now();
            let done = self.round(took.len());
            if done.is_some() && self.world.peaceful_since(before) {
                took.push(started.elapsed());
            }
            thread::sleep(EVERY);
        }
        took
    }

    /// The same after all others have finished.
    pub(crate) fn rest(&self) -> Vec<Duration> {
        let timed = |number| {
            let started = Instant::now();
            self.round(number).map(|()| started.elapsed())
        };
        (0..RESTING).filter_map(timed).collect()
    }

    fn round(&self, node: usize) -> Option<()> {
        let created = self.asker.ask(
            node,
            &Request::post("/v1/inboxes", "/v1/inboxes", json!({})),
        )?;
        let recipients = [created.body["address"].as_str()?.to_owned()];
        let smtp = self.world.nodes.with(node, |server| server.smtp.clone())?;
        let mail = Mail {
            recipients: &recipients,
            subject: "quiet",
            text: "Your code is 4821.",
            key: Some(self.key),
        };
        let outcome = self.world.deliver(node, || send(&smtp, &mail));
        if outcome != Outcome::Accepted {
            return None;
        }
        let id = created.body["id"].as_str()?;
        let path = format!("/v1/inboxes/{id}/messages/wait?timeout=5000");
        let answer = self.asker.ask(
            node + 1,
            &Request::get("/v1/inboxes/{id}/messages/wait", path),
        )?;
        (answer.status == 200).then_some(())
    }
}
