//! A running server that receives mail over SMTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

use tempfile::TempDir;

use super::visitor::ADMIN;
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
        let data_dir = tempfile::tempdir().unwrap();
        let ports = [ReservedPort::new(), ReservedPort::new()];
        Self { server: serve(&ports, data_dir.path()), data_dir, ports }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// Kills the server, runs `meanwhile`, and starts the server again at the same addresses.
    pub fn restart(self, meanwhile: impl FnOnce()) -> Self {
        let Self { server, data_dir, ports } = self;
        server.kill();
        meanwhile();
        Self { server: serve(&ports, data_dir.path()), data_dir, ports }
    }

    /// Sends a message with LF as line end, and returns the last reply.
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

fn serve([http, smtp]: &[ReservedPort; 2], data_dir: &Path) -> Server {
    let listen = [http, smtp].map(|port| format!("127.0.0.1:{}", port.number()));
    let mut serve = command(["serve", "--http-listen", &listen[0], "--smtp-listen", &listen[1], "--data-dir"]);
    Server::spawn(serve.arg(data_dir).args(FLAGS))
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
