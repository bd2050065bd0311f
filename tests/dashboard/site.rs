//! A running server that receives mail over SMTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::visitor::ADMIN;
use restante::http::for_browsers;
use testkit::http;
use testkit::port::ReservedPort;
use testkit::server::{Server, command};

/// The key of the default project.
pub const KEY: &str = "rst_live_dashboardtests0123456789";
const FLAGS: [&str; 8] = [
    "--mail-domain",
    "restante.example.com",
    "--api-key",
    KEY,
    "--admin-token",
    ADMIN,
    // Nothing listens there, so no mail is delivered to other domains.
    "--relay",
    "smtp://127.0.0.1:1",
];

/// A new server.
pub struct Site {
    pub server: Server,
    data_dir: TempDir,
    ports: [ReservedPort; 2],
}

impl Site {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A new server with additional flags, which it does not keep when it is started again.
    pub fn start_with(flags: &[&str]) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let ports = [ReservedPort::new(), ReservedPort::new()];
        Self {
            server: serve(&ports, data_dir.path(), flags),
            data_dir,
            ports,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", for_browsers(&self.server.url))
    }

    /// Kills the server, runs `meanwhile`, and starts the server again at the same addresses.
    pub fn restart(self, meanwhile: impl FnOnce()) -> Self {
        let Self {
            server,
            data_dir,
            ports,
        } = self;
        server.kill();
        meanwhile();
        Self {
            server: serve(&ports, data_dir.path(), &[]),
            data_dir,
            ports,
        }
    }

    /// Sends these lines as they are over a new connection, ends it, and returns all replies.
    pub fn talk(&self, lines: &[&str]) -> String {
        let mut stream = TcpStream::connect(&self.server.smtp).unwrap();
        let mut replies = String::new();
        lines
            .iter()
            .for_each(|line| stream.write_all(line.as_bytes()).unwrap());
        // A client that has left gets no reply to a login that fails.
        if lines.last() != Some(&"QUIT\r\n") {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        stream.read_to_string(&mut replies).unwrap();
        replies
    }

    /// Calls the API with the key, and returns the status, the header `Link` and the body.
    pub fn call(&self, method: &str, path: &str, body: &str) -> (u16, Option<String>, Value) {
        let request = http::call(method, format!("{}{path}", self.server.url));
        let request = request.header("x-api-key", KEY).any_status();
        let response = request.send(body).unwrap();
        let link = response
            .headers()
            .get("link")
            .map(|link| link.to_str().unwrap().to_owned());
        (
            response.status().as_u16(),
            link,
            serde_json::from_str(response.body()).unwrap_or_default(),
        )
    }

    /// A new inbox: its id and its address.
    pub fn create_inbox(&self) -> (String, String) {
        let (.., inbox) = self.call("POST", "/v1/inboxes", "");
        let field = |name: &str| inbox[name].as_str().unwrap().to_owned();
        (field("id"), field("address"))
    }

    /// Waits in vain for a message, and returns the URL of the page that explains it.
    pub fn times_out(&self, inbox: &str, filters: &str) -> String {
        let wait = format!("/v1/inboxes/{inbox}/messages/wait?timeout=1&{filters}");
        let (status, link, _) = self.call("GET", &wait, "");
        assert_eq!(status, 408);
        let link = link.unwrap();
        link.split(['<', '>']).nth(1).unwrap().to_owned()
    }

    /// Sends a message with LF as line end, and returns the last reply.
    pub fn mail(&self, recipient: &str, message: &str) -> String {
        let stream = TcpStream::connect(&self.server.smtp).unwrap();
        let mut client = Client {
            reader: BufReader::new(stream.try_clone().unwrap()),
            stream,
        };
        client.reply();
        client.command("EHLO app.example");
        client.command("MAIL FROM:<bounces@app.example>");
        let reply = client.command(&format!("RCPT TO:<{recipient}>"));
        if !reply.starts_with("250") {
            return reply;
        }
        client.command("DATA");
        let data = message.replace('\n', "\r\n").replace("\r\n.", "\r\n..");
        client.command(&format!("{data}\r\n."))
    }
}

fn serve([http, smtp]: &[ReservedPort; 2], data_dir: &Path, flags: &[&str]) -> Server {
    let listen = [http, smtp].map(|port| format!("127.0.0.1:{}", port.number()));
    let mut serve = command([
        "serve",
        "--http-listen",
        &listen[0],
        "--smtp-listen",
        &listen[1],
        "--data-dir",
    ]);
    Server::spawn(serve.arg(data_dir).args(FLAGS).args(flags))
}

struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    fn command(&mut self, line: &str) -> String {
        write!(self.stream, "{line}\r\n").unwrap();
        self.reply()
    }

    /// The last line of the next reply.
    fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.reader.read_line(&mut line).unwrap(),
                0,
                "the server hung up"
            );
            if line.as_bytes().get(3) == Some(&b' ') {
                return line.trim_end().to_owned();
            }
        }
    }
}
