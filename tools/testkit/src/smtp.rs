//! A small SMTP client with which a test sees every reply.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle};

/// How long a server may take to reply. No reply takes this long, so a test fails instead of
/// hanging.
const SILENCE: Duration = Duration::from_secs(120);

/// One connection, after the greeting.
pub struct Smtp(BufReader<TcpStream>);

impl Smtp {
    pub fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SILENCE))?;
        // On Linux, a connection made while the server is being killed may stay open without a
        // peer. This detects it.
        set_socket_keepalive(&stream, true)?;
        set_tcp_keepidle(&stream, Duration::from_secs(1))?;
        let mut client = Self(BufReader::new(stream));
        client.reply()?;
        client.say("EHLO client.example")?;
        Ok(client)
    }

    /// Sends one message and returns the reply to its final dot.
    pub fn send(&mut self, to: &str, subject: &str, text: &str) -> io::Result<String> {
        self.say("MAIL FROM:<app@example.com>")?;
        self.say(&format!("RCPT TO:<{to}>"))?;
        self.say("DATA")?;
        self.say(&format!(
            "From: app@example.com\r\nTo: {to}\r\nSubject: {subject}\r\n\r\n{text}\r\n."
        ))
    }

    /// Sends a line and returns the last line of the reply.
    pub fn say(&mut self, line: &str) -> io::Result<String> {
        self.write(&format!("{line}\r\n"))?;
        self.reply()
    }

    /// Sends text as it is, and does not wait for a reply.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    /// The last line of the next reply.
    pub fn reply(&mut self) -> io::Result<String> {
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                // Not an ordinary error: a test that kills the server would not notice it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("no reply within {SILENCE:?}: {:?}", self.0.get_ref());
                }
                read => read?,
            };
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(line.trim_end().to_owned());
            }
        }
    }
}

/// Delivers one message on a new connection.
pub fn deliver(address: &str, to: &str, subject: &str, text: &str) {
    let reply = Smtp::connect(address)
        .unwrap()
        .send(to, subject, text)
        .unwrap();
    assert!(reply.starts_with("250"), "{reply}");
}

/// The Message-ID of a message that was received completely.
pub fn read_message(
    lines: &mut impl Iterator<Item = io::Result<String>>,
) -> io::Result<Option<String>> {
    let mut message_id = None;
    for line in lines {
        match line? {
            line if line == "." => return Ok(message_id),
            line => {
                message_id =
                    message_id.or_else(|| line.strip_prefix("Message-ID: ").map(str::to_owned));
            }
        }
    }
    Ok(None)
}
