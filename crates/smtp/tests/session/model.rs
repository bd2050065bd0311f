//! The reference model: the rules of the session, applied to all bytes of a client at once, as
//! simply as possible.
//!
//! It uses searches instead of a state machine, and tables instead of a parser, and never sees a
//! part of a line. It knows only the commands in random sessions; all others are unknown commands.

use restante_dialogs::{Conditions, Delivery, Question, Refused};
use restante_smtp::Refusal;

const MESSAGE_SIZE: usize = 60;
const DATA_LINE: usize = 32;
const RECIPIENTS: usize = 3;
const COMMAND_LINE: usize = 100;

/// The observable behaviour of the server in one session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// For each reply, its code and its status; without a status, the first word of its text.
    pub(crate) replies: Vec<String>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) closed: bool,
}

/// The settings of the model.
pub(crate) fn conditions() -> Conditions {
    let refused = |question, about: &str, refusal| Refused {
        question,
        about: about.to_owned(),
        refusal,
    };
    Conditions {
        loopback: true,
        keys_only: true,
        message_size: MESSAGE_SIZE as u64,
        data_line: DATA_LINE,
        recipients: RECIPIENTS,
        command_line: COMMAND_LINE,
        refused: vec![
            refused(Question::Sender, "short@client.example", Refusal::DiskShort),
            refused(
                Question::Recipient,
                "full@restante.example.com",
                Refusal::InboxFull,
            ),
            refused(
                Question::Message,
                "broken@restante.example.com",
                Refusal::StoreFailure,
            ),
        ],
        ..Conditions::default()
    }
}

/// The behaviour of a server that receives these bytes.
pub(crate) fn run(bytes: &[u8]) -> Outcome {
    let mut server = Model {
        rest: bytes,
        ..Model::default()
    };
    server.say("220 mx.restante.example.com");
    while !server.closed {
        let Some(line) = server.line() else { break };
        server.command(&line);
    }
    Outcome {
        replies: server.replies,
        deliveries: server.deliveries,
        closed: server.closed,
    }
}

#[derive(Default)]
struct Model<'a> {
    rest: &'a [u8],
    replies: Vec<String>,
    deliveries: Vec<Delivery>,
    closed: bool,
    greeted: bool,
    authenticated: bool,
    failed_authentications: usize,
    errors: usize,
    sender: Option<String>,
    recipients: Vec<String>,
    recipient_refused: bool,
}

impl Model<'_> {
    fn say(&mut self, reply: &str) {
        let is_gibberish = ["500", "501", "502", "504", "555"]
            .iter()
            .any(|code| reply.starts_with(code));
        self.errors = match reply.as_bytes()[0] {
            _ if is_gibberish => self.errors + 1,
            _ if reply.starts_with("334") => self.errors,
            b'2' | b'3' => 0,
            _ => self.errors,
        };
        if self.errors == 20 && is_gibberish {
            return self.close("421 4.7.0");
        }
        self.replies.push(reply.to_owned());
    }

    fn close(&mut self, reply: &str) {
        self.replies.push(reply.to_owned());
        self.closed = true;
    }

    /// Removes and returns the bytes up to and including `end`.
    fn up_to(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        let place = self
            .rest
            .windows(end.len())
            .position(|window| window == end)?;
        let (taken, rest) = self.rest.split_at(place + end.len());
        self.rest = rest;
        Some(taken[..place].to_vec())
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        self.up_to(b"\r\n")
    }

    fn command(&mut self, line: &[u8]) {
        if line.len() + 2 > COMMAND_LINE || line.iter().any(|byte| b"\r\n\0".contains(byte)) {
            return self.say("500 5.5.2");
        }
        let line = String::from_utf8(line.to_vec()).unwrap();
        let (verb, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let in_transaction = self.sender.is_some();
        match verb {
            "MAIL" | "RCPT" | "DATA" | "AUTH" if !self.greeted => self.say("503 5.5.1"),
            "MAIL" | "AUTH" if in_transaction => self.say("503 5.5.1"),
            "RCPT" | "DATA" if !in_transaction => self.say("503 5.5.1"),
            "EHLO" if argument.is_empty() => self.say("501 5.5.4"),
            "EHLO" => self.hello("250 AUTH"),
            "HELO" => self.hello("250 mx.restante.example.com"),
            "MAIL" => self.mail(argument),
            "RCPT" => self.rcpt(argument),
            "DATA" => self.data(),
            "AUTH" => self.auth(argument),
            "RSET" => {
                self.reset();
                self.say("250 2.0.0");
            }
            "NOOP" => self.say("250 2.0.0"),
            "VRFY" => self.say("252 2.0.0"),
            "EXPN" => self.say("502 5.5.1"),
            "QUIT" if argument.is_empty() => self.close("221 2.0.0"),
            "QUIT" => self.say("501 5.5.4"),
            _ => self.say("500 5.5.1"),
        }
    }

    fn reset(&mut self) {
        self.sender = None;
        self.recipients.clear();
        self.recipient_refused = false;
    }

    fn hello(&mut self, reply: &str) {
        self.reset();
        self.greeted = true;
        self.say(reply);
    }

    fn mail(&mut self, argument: &str) {
        match argument {
            "FROM:<a@client.example>" => {
                self.sender = Some("<a@client.example>".to_owned());
                self.say("250 2.1.0");
            }
            "FROM:<short@client.example>" => self.say("452 4.3.1"),
            "FROM:<a@client.example> SIZE=61" => self.say("552 5.3.4"),
            _ => self.say("553 5.1.7"),
        }
    }

    fn rcpt(&mut self, argument: &str) {
        let refusal = match argument {
            "TO:<x@elsewhere.example>" => "550 5.7.1",
            "TO:<malformed" => "553 5.1.3",
            _ if self.recipients.len() == RECIPIENTS => "452 4.5.3",
            "TO:<full@restante.example.com>" => "452 4.2.2",
            path => {
                self.recipients
                    .push(path.trim_start_matches("TO:").to_owned());
                return self.say("250 2.1.5");
            }
        };
        self.recipient_refused = true;
        self.say(refusal);
    }

    fn data(&mut self) {
        if self.recipients.is_empty() && self.recipient_refused {
            self.reset();
            return self.say("554 5.5.1");
        }
        if self.recipients.is_empty() {
            return self.say("503 5.5.1");
        }
        self.say("354 End");
        // If the message is empty, the CR LF before its final dot is the one of the DATA command.
        let data = [b"\r\n", self.rest].concat();
        let Some(end) = data.windows(5).position(|window| window == b"\r\n.\r\n") else {
            self.rest = b"";
            return;
        };
        self.rest = &self.rest[end + 3..];
        self.message(&data[2..end + 2]);
    }

    /// Checks a received message, with its transparency dots and without its final dot.
    fn message(&mut self, data: &[u8]) {
        let lines = lines(data);
        let message: Vec<u8> = lines
            .iter()
            .flat_map(|line| line.strip_prefix(b".").unwrap_or(line))
            .copied()
            .collect();
        let has_bare_line_end = lines
            .iter()
            .any(|line| line[..line.len() - 2].iter().any(|it| b"\r\n".contains(it)));
        let has_long_line = lines
            .iter()
            .any(|line| line.strip_prefix(b".").unwrap_or(line).len() > DATA_LINE);
        let envelope = [self.sender.clone().unwrap()]
            .into_iter()
            .chain(self.recipients.clone())
            .collect();
        let first = self.recipients[0].clone();
        self.reset();
        if message.len() > MESSAGE_SIZE {
            self.say("552 5.3.4");
        } else if has_bare_line_end {
            self.say("550 5.6.11");
        } else if has_long_line {
            self.say("552 5.6.0");
        } else if first == "<broken@restante.example.com>" {
            self.say("451 4.3.0");
        } else {
            self.deliveries.push(Delivery { envelope, message });
            self.say("250 2.0.0");
        }
    }

    fn auth(&mut self, argument: &str) {
        if self.authenticated {
            return self.say("503 5.5.1");
        }
        let response = match argument.strip_prefix("PLAIN ") {
            Some(initial) => initial.as_bytes().to_vec(),
            None => {
                self.say("334 ");
                let Some(response) = self.line() else {
                    self.rest = b"";
                    return;
                };
                response
            }
        };
        match response.as_slice() {
            b"AHVzZXIAcnN0X2xpdmVfMDEyMzQ1Njc4OWFiY2RlZg==" => {
                self.authenticated = true;
                self.say("235 2.7.0");
            }
            b"AHVzZXIAd3Jvbmc=" => self.failed_authentication(),
            b"*" => self.say("501 5.7.0"),
            _ => self.say("501 5.5.2"),
        }
    }

    fn failed_authentication(&mut self) {
        self.failed_authentications += 1;
        if self.failed_authentications == 3 {
            self.close("421 4.7.0");
        } else {
            self.say("535 5.7.8");
        }
    }
}

/// Splits data after each CR LF.
fn lines(mut data: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(place) = data.windows(2).position(|window| window == b"\r\n") {
        let (line, rest) = data.split_at(place + 2);
        lines.push(line);
        data = rest;
    }
    lines
}
