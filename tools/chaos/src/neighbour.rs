//! A project without load: how long its requests take while the others work and nothing fails.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::asker::Asker;
use crate::http::Request;
use crate::mail::{Mail, Outcome, send};
use crate::world::World;

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
        Self { world, key, asker: Asker::new(world, key) }
    }

    /// Creates an inbox, sends mail to it and waits, repeatedly. Returns how long this took in peace.
    pub(crate) fn run(self) -> Vec<Duration> {
        let mut took = Vec::new();
        while self.world.goes_on() {
            let (before, started) = (self.world.moment(), Instant::now());
            let done = self.round(took.len());
            if done.is_some() && self.world.peaceful_since(before) {
                took.push(started.elapsed());
            }
            thread::sleep(EVERY);
        }
        took
    }

    fn round(&self, node: usize) -> Option<()> {
        let created = self.asker.ask(node, &Request::post("/v1/inboxes", "/v1/inboxes", json!({})))?;
        let recipients = [created.body["address"].as_str()?.to_owned()];
        let smtp = self.world.nodes.with(node, |server| server.smtp.clone())?;
        let mail = Mail { recipients: &recipients, subject: "quiet", text: "Your code is 4821.", key: Some(self.key) };
        if send(&smtp, &mail) != Outcome::Accepted {
            return None;
        }
        let id = created.body["id"].as_str()?;
        let path = format!("/v1/inboxes/{id}/messages/wait?timeout=5000");
        let answer = self.asker.ask(node + 1, &Request::get("/v1/inboxes/{id}/messages/wait", path))?;
        (answer.status == 200).then_some(())
    }
}
