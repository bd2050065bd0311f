//! A signed-in browser of one client: forms, and the stream of an inbox.

use std::sync::mpsc;
use std::time::Duration;

use testkit::http::{Bytes, Client};

use crate::http::LONG;
use crate::world::World;

/// The session of one browser.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    client: Client,
    cookie: String,
    csrf: String,
    /// `/projects/ID`
    pub(crate) project: String,
}

/// The status and the location of an answer to a form.
pub(crate) type Sent = (u16, String);

impl Pages {
    /// Signs in with a key; `None` if the node does not answer.
    pub(crate) fn sign_in(world: &World, node: usize, key: &str) -> Option<Self> {
        let client = Client::new();
        let url = world.nodes.with(node, |server| server.url.clone())?;
        let form = client.call("POST", format!("{url}/sign-in"));
        let form = form.header("origin", &url).any_status().within(LONG);
        let signed_in = form.send_form(&[("secret", key)]).ok()?;
        let cookie = signed_in
            .headers()
            .get("set-cookie")?
            .to_str()
            .ok()?
            .split(';')
            .next()?
            .to_owned();
        let page = |path: &str| {
            let call = client.call("GET", format!("{url}{path}"));
            let call = call.header("cookie", &cookie).any_status().within(LONG);
            call.call().ok()
        };
        let home = page("/")?;
        // `/projects/ID/inboxes` or `/projects/ID/failures`
        let (project, _) = home
            .headers()
            .get("location")?
            .to_str()
            .ok()?
            .rsplit_once('/')?;
        let inboxes = page(&format!("{project}/inboxes"))?;
        let csrf = inboxes
            .body()
            .split("name=\"csrf\" value=\"")
            .nth(1)?
            .split('"')
            .next()?
            .to_owned();
        let project = project.to_owned();
        Some(Self {
            client,
            cookie,
            csrf,
            project,
        })
    }

    /// Sends a form below the project's path.
    pub(crate) fn submit(
        &self,
        world: &World,
        node: usize,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Option<Sent> {
        let url = world.nodes.with(node, |server| server.url.clone())?;
        let form = self
            .client
            .call("POST", format!("{url}{}{path}", self.project));
        let form = form.header("origin", &url).header("cookie", &self.cookie);
        let fields = [fields, &[("csrf", &self.csrf)]].concat();
        let answer = form.any_status().within(LONG).send_form(&fields).ok()?;
        let location = answer
            .headers()
            .get("location")
            .and_then(|location| location.to_str().ok());
        Some((
            answer.status().as_u16(),
            location.unwrap_or_default().to_owned(),
        ))
    }

    /// Opens the stream of an inbox. The channel gets a value for each event, the first for its
    /// opening, and is closed with the stream.
    pub(crate) fn follow(
        &self,
        world: &World,
        node: usize,
        inbox: &str,
    ) -> Option<mpsc::Receiver<Bytes>> {
        let url = world.nodes.with(node, |server| server.url.clone())?;
        let url = format!("{url}{}/inboxes/{inbox}/events", self.project);
        let stream = self.client.call("GET", url).header("cookie", &self.cookie);
        stream.within(Duration::from_secs(10)).pieces()
    }
}
