//! One node of an installation, and an HTTP client for it.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

pub(crate) use testkit::eventually;
use testkit::http;
use testkit::server::{Server, serve};
use testkit::smtp::Smtp;

/// The key of the default project, for tests in which its origin does not matter.
pub(crate) const KEY: &str = "rst_live_0123456789abcdefghijABCDEFGHIJ01";
/// Longer than any step of a test takes.
const LONG: Duration = Duration::from_secs(60);

/// A running node with its own data directory.
pub(crate) struct Node {
    pub(crate) server: Server,
    _data_dir: tempfile::TempDir,
}

/// The status and the JSON of an answer.
pub(crate) type Answer = (u16, Value);

impl Node {
    /// Starts a node on `database`.
    pub(crate) fn start(database: &str) -> Self {
        Self::start_with(database, &["--api-key", KEY])
    }

    pub(crate) fn start_with(database: &str, flags: &[&str]) -> Self {
        Self::start_in(database, flags, &[])
    }

    /// Starts a node with these variables of the environment.
    pub(crate) fn start_in(database: &str, flags: &[&str], environment: &[(&str, &Path)]) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let mut command = serve(data_dir.path());
        command
            .args(["--database", database, "--max-inbox-messages", "10000000"])
            .args(flags);
        let level = std::env::var("RESTANTE_LOG").unwrap_or_else(|_| "error".to_owned());
        command
            .env("RESTANTE_LOG", level)
            .envs(environment.iter().copied());
        Self {
            server: Server::spawn(&mut command),
            _data_dir: data_dir,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.server.url)
    }

    pub(crate) fn smtp(&self) -> String {
        self.server.smtp.clone()
    }
}

/// Sends requests to one node.
#[derive(Clone)]
pub(crate) struct Client {
    http: http::Client,
    url: String,
    key: String,
}

impl Client {
    fn new(url: &str) -> Self {
        Self {
            http: http::Client::new(),
            url: url.to_owned(),
            key: KEY.to_owned(),
        }
    }

    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// The answer to a GET; an error if there is none.
    pub(crate) fn try_get(&self, path: &str) -> Result<Answer, http::Error> {
        self.try_get_with(&self.key, path)
    }

    pub(crate) fn try_get_with(&self, key: &str, path: &str) -> Result<Answer, http::Error> {
        self.get_within(LONG, key, path)
    }

    fn get_within(&self, limit: Duration, key: &str, path: &str) -> Result<Answer, http::Error> {
        let request = self.http.call("GET", format!("{}{path}", self.url));
        let request = request.header("x-api-key", key).within(limit);
        request.any_status().call().map(|answer| read(&answer))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.try_get(path).unwrap()
    }

    /// The answer to a POST; an error if there is none.
    pub(crate) fn try_post(&self, path: &str, body: &Value) -> Result<Answer, http::Error> {
        let request = self.http.call("POST", format!("{}{path}", self.url));
        let request = request.header("x-api-key", &self.key).within(LONG);
        request
            .any_status()
            .send(body.to_string())
            .map(|answer| read(&answer))
    }

    /// The id of a new inbox.
    pub(crate) fn create_inbox(&self) -> String {
        let (status, inbox) = self
            .try_post("/v1/inboxes", &serde_json::json!({}))
            .unwrap();
        assert_eq!(status, 201, "{inbox}");
        inbox["id"].as_str().unwrap().to_owned()
    }

    /// Waits in an inbox for a message after `after`.
    pub(crate) fn wait(
        &self,
        inbox: &str,
        after: Option<&str>,
        timeout: Duration,
    ) -> Result<Answer, http::Error> {
        let after = after.map(|id| format!("&after={id}")).unwrap_or_default();
        let path = format!(
            "/v1/inboxes/{inbox}/messages/wait?timeout={}{after}",
            timeout.as_millis()
        );
        self.get_within(timeout + LONG, &self.key, &path)
    }
}

fn read(answer: &http::Answer) -> Answer {
    let body = serde_json::from_str(answer.body()).expect("every answer is JSON");
    (answer.status().as_u16(), body)
}

/// A mail client that keeps one connection while it works.
pub(crate) struct Sender {
    connection: Option<Smtp>,
    smtp: String,
}

impl Sender {
    pub(crate) fn new(smtp: String) -> Self {
        Self {
            connection: None,
            smtp,
        }
    }

    /// Sends one message. Returns the last reply: to its final dot, or to the first command that
    /// was refused.
    pub(crate) fn send(&mut self, inbox: &str, subject: &str) -> io::Result<String> {
        let sent = self.converse(inbox, subject);
        if !sent.as_ref().is_ok_and(|reply| reply.starts_with("250")) {
            self.connection = None;
        }
        sent
    }

    fn converse(&mut self, inbox: &str, subject: &str) -> io::Result<String> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => Smtp::connect(&self.smtp)?,
        };
        let connection = self.connection.insert(connection);
        let recipient = format!("RCPT TO:<{inbox}@restante.example.com>");
        for (line, expected) in [
            ("MAIL FROM:<app@example.com>", "250"),
            (&recipient, "250"),
            ("DATA", "354"),
        ] {
            let reply = connection.say(line)?;
            if !reply.starts_with(expected) {
                return Ok(reply);
            }
        }
        connection.say(&format!(
            "From: app@example.com\r\nSubject: {subject}\r\n\r\ntext\r\n."
        ))
    }
}
