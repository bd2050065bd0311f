//! A signed-in browser of one client: forms, and the stream of an inbox.

use std::io::Read;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::http::LONG;
use crate::world::World;

/// The session of one browser.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    agent: ureq::Agent,
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
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0);
        let agent: ureq::Agent = config.timeout_global(Some(LONG)).build().into();
        let url = world.nodes.with(node, |server| server.url.clone())?;
        let form = agent.post(format!("{url}/sign-in")).header("origin", &url);
        let signed_in = form.send_form([("secret", key)]).ok()?;
        let cookie = signed_in
            .headers()
            .get("set-cookie")?
            .to_str()
            .ok()?
            .split(';')
            .next()?
            .to_owned();
        let home = agent
            .get(format!("{url}/"))
            .header("cookie", &cookie)
            .call()
            .ok()?;
        // `/projects/ID/inboxes` or `/projects/ID/failures`
        let (project, _) = home
            .headers()
            .get("location")?
            .to_str()
            .ok()?
            .rsplit_once('/')?;
        let mut page = agent
            .get(format!("{url}{project}/inboxes"))
            .header("cookie", &cookie)
            .call()
            .ok()?;
        let page = page.body_mut().read_to_string().ok()?;
        let csrf = page
            .split("name=\"csrf\" value=\"")
            .nth(1)?
            .split('"')
            .next()?
            .to_owned();
        Some(Self {
            agent,
            cookie,
            csrf,
            project: project.to_owned(),
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
        let form = self.agent.post(format!("{url}{}{path}", self.project));
        let form = form.header("origin", &url).header("cookie", &self.cookie);
        let fields = fields.iter().copied().chain([("csrf", self.csrf.as_str())]);
        let answer = form.send_form(fields).ok()?;
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
    ) -> Option<mpsc::Receiver<()>> {
        let url = world.nodes.with(node, |server| server.url.clone())?;
        let stream = self
            .agent
            .get(format!("{url}{}/inboxes/{inbox}/events", self.project));
        let stream = stream
            .config()
            .timeout_global(Some(Duration::from_secs(10)))
            .build();
        let answer = stream
            .header("cookie", &self.cookie)
            .call()
            .ok()
            .filter(|answer| answer.status() == 200)?;
        let (events, received) = mpsc::channel();
        thread::spawn(move || {
            let mut reader = answer.into_body().into_reader();
            let mut buffer = [0; 1024];
            while let Ok(1..) = reader.read(&mut buffer) {
                if events.send(()).is_err() {
                    return;
                }
            }
        });
        Some(received)
    }
}
