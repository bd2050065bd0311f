//! One SMTP session of the load.

use std::io;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::mail::Template;

pub(crate) struct Session {
    stream: TcpStream,
    input: Vec<u8>,
}

/// When the end of a message was written, and when its reply arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) dot: Instant,
    pub(crate) answered: Instant,
}

impl Session {
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut session = Self {
            stream,
            input: Vec::with_capacity(1_024),
        };
        session.expect("220", "the connection").await?;
        session.say("EHLO load.test\r\n", "250").await?;
        Ok(session)
    }

    /// Sends one message. If it is rejected, the error contains the reply.
    pub(crate) async fn send(
        &mut self,
        template: &mut Template,
        number: u64,
        recipient: &str,
        pipelining: bool,
    ) -> io::Result<Sent> {
        let recipient = format!("RCPT TO:<{recipient}>\r\n");
        let commands = [
            ("MAIL FROM:<app@shop.test>\r\n", "250"),
            (recipient.as_str(), "250"),
            ("DATA\r\n", "354"),
        ];
        if pipelining {
            self.stream
                .write_all(commands.map(|(command, _)| command).concat().as_bytes())
                .await?;
            for (command, code) in commands {
                self.expect(code, command).await?;
            }
        } else {
            for (command, code) in commands {
                self.say(command, code).await?;
            }
        }
        self.stream.write_all(template.numbered(number)).await?;
        let dot = Instant::now();
        self.expect("250", "the message").await?;
        Ok(Sent {
            dot,
            answered: Instant::now(),
        })
    }

    async fn say(&mut self, command: &str, code: &str) -> io::Result<()> {
        self.stream.write_all(command.as_bytes()).await?;
        self.expect(code, command).await
    }

    /// Reads the next reply, which may have several lines.
    async fn expect(&mut self, code: &str, about: &str) -> io::Result<()> {
        loop {
            while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                if line.get(3) == Some(&b'-') {
                    continue;
                }
                if line.starts_with(code.as_bytes()) {
                    return Ok(());
                }
                let about = about.trim_end();
                let line = line.trim_ascii_end().escape_ascii();
                return Err(io::Error::other(format!("the reply to {about} was {line}")));
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
