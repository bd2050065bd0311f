//! Sends requests with the key of one client, and judges what is wrong in any answer.

use crate::http::{Answer, Http, Request};
use crate::world::World;

#[derive(Clone)]
pub(crate) struct Asker<'a> {
    pub(crate) world: &'a World,
    key: &'a str,
    http: Http,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(world: &'a World, key: &'a str) -> Self {
        Self {
            world,
            key,
            http: Http::new(),
        }
    }

    /// The answer of one node; `None` if there is none.
    pub(crate) fn ask(&self, node: usize, request: &Request) -> Option<Answer> {
        let before = self.world.moment();
        let url = self.world.nodes.with(node, |server| server.url.clone())?;
        let answer = match self.http.send(&url, self.key, request) {
            Ok(answer) => answer,
            Err(error) => {
                if self.world.peaceful_since(before) {
                    self.world.find(
                        "a request is answered while nothing fails",
                        format!("{request:?}: {error}"),
                    );
                }
                return None;
            }
        };
        self.world.count("requests answered");
        self.judge(request, &answer, self.world.peaceful_since(before));
        Some(answer)
    }

    fn judge(&self, request: &Request, answer: &Answer, peaceful: bool) {
        let shown = || {
            format!(
                "{} {}: {} {}",
                request.method, request.path, answer.status, answer.body
            )
        };
        if answer.status == 500 {
            self.world.find("500 never happens", shown());
        } else if !self
            .world
            .contract
            .allows(request.method, request.template, answer.status)
        {
            self.world.find("every status is documented", shown());
        } else if answer.status == 503 && peaceful {
            self.world
                .find("nothing is unavailable while nothing fails", shown());
        }
        if answer.status >= 400
            && answer.body["error"].as_str().is_none()
            && request.template.starts_with("/v1")
        {
            self.world.find("an error says what is wrong", shown());
        }
    }
}
