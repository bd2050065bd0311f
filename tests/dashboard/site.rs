//! A running server, and mail that comes to it as mail comes: over SMTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use tempfile::TempDir;

use super::visitor::ADMIN;
use crate::server::{Server, command, serve};

/// The key of the default project.
pub const KEY: &str = "rst_live_dashboardtests0123456789";
const FLAGS: [&str; 8] = [
    "--mail-domain",
    "restante.test",
    "--api-key",
    KEY,
    "--admin-token",
    ADMIN,
    // Nobody listens there, so no mail leaves.
    "--relay",
    "smtp://127.0.0.1:1",
];

/// A server of its own.
pub struct Site {
    pub server: Server,
    data_dir: TempDir,
}

impl Site {
    pub fn start() -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let server = Server::spawn(serve(data_dir.path()).args(FLAGS));
        Self { server, data_dir }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// The server is killed and, after `meanwhile`, started again in its place.
    pub fn restart(self, meanwhile: impl FnOnce()) -> Self {
        let Self { server, data_dir } = self;
        let (http, smtp) = (server.url.trim_start_matches("http://").to_owned(), server.smtp.clone());
        server.kill();
        meanwhile();
        let mut command = command(["serve", "--http-listen", &http, "--smtp-listen", &smtp, "--data-dir"]);
        let server = Server::spawn(command.arg(data_dir.path()).args(FLAGS));
        Self { server, data_dir }
    }

    /// Sends a message, lines ended by LF, and returns the last reply.
    pub fn mail(&self, recipient: &str, message: &str) -> String {
        let stream = TcpStream::connect(&self.server.smtp).unwrap();
        let mut client = Client { reader: BufReader::new(stream.try_clone().unwrap()), stream };
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
            assert_ne!(self.reader.read_line(&mut line).unwrap(), 0, "the server hung up");
            if line.as_bytes().get(3) == Some(&b' ') {
                return line.trim_end().to_owned();
            }
        }
    }
}
