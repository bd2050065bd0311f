//! Writes down what a client and the server say, so that the timeline of an inbox can show it. It
//! contains no password, no key and no body, and of the recipients each inbox sees only its own.
//!
//! A transcript covers one mail transaction of the session, after the commands that introduced the
//! client. It is recorded when the transaction has ended: if a message was stored, with the next
//! command, so that nothing is added to the way of a delivery.

use std::borrow::Cow;

use restante_api::Exchange;
use restante_smtp::reply::RefusedPath;
use restante_smtp::{Reply, Said, Verb};
use uuid::Uuid;

use crate::model::{
    Domain, EmailAddress, InboxId, ProjectId, SharedAddress, SmtpSession, Timestamp,
};

/// Maximum number of commands before the first MAIL, and of commands of a transaction.
const MAX_INTRODUCTION: usize = 8;
const MAX_EXCHANGES: usize = 40;
/// Most transactions have fewer commands.
const EXCHANGES: usize = 8;
/// Maximum number of recipients whose inboxes get the transcript; a message can have more.
const MAX_NAMED: usize = 20;
/// Maximum number of characters of a command and of a reply.
const MAX_CHARACTERS: usize = 300;

/// The transcript of a session.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    introduction: Vec<Line>,
    /// The commands of the current transaction.
    lines: Vec<Line>,
    /// The recipients that the transaction has named.
    named: Vec<EmailAddress>,
    /// The command whose reply follows.
    pending: Option<Line>,
    /// The project of the first recipient's inbox, once the message is accepted.
    owner: Option<ProjectId>,
    state: State,
    has_failed: bool,
}

/// The state of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    Open,
    /// It is recorded with the next command.
    Ended,
}

/// A command with its reply.
#[derive(Clone, Debug)]
struct Line {
    command: Cow<'static, str>,
    reply: Cow<'static, str>,
    seen_by: SeenBy,
}

/// Which of the recipients' inboxes see a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeenBy {
    All,
    /// Only the recipient with this number, which it names.
    One(usize),
    /// It names a recipient without a transcript.
    None,
}

/// The client of a session, for the record.
pub(super) struct Client<'a> {
    pub(super) address: String,
    pub(super) tls: Option<&'static str>,
    pub(super) project: Option<ProjectId>,
    pub(super) mail_domain: &'a Domain,
    pub(super) now: Timestamp,
}

impl Transcript {
    /// The client sent MAIL with this reverse-path.
    pub(super) fn sender(&mut self, reverse_path: &str) {
        self.pending = Some(Line::new(
            format!("MAIL FROM:{}", short(reverse_path)),
            SeenBy::All,
        ));
    }

    /// The client sent RCPT with this address.
    pub(super) fn recipient(&mut self, address: &EmailAddress) {
        let seen_by = self.name(Some(address));
        self.pending = Some(Line::new(
            format!("RCPT TO:<{}>", short(&address.to_string())),
            seen_by,
        ));
    }

    /// Adds a recipient. Returns who sees the command that named it.
    fn name(&mut self, address: Option<&EmailAddress>) -> SeenBy {
        let number = self.named.len();
        self.named
            .extend(address.filter(|_| number < MAX_NAMED).cloned());
        if self.named.len() > number {
            SeenBy::One(number)
        } else {
            SeenBy::None
        }
    }

    /// The client sent a whole message.
    pub(super) fn message(&mut self) {
        self.pending = Some(Line::new("(message)", SeenBy::All));
    }

    /// The message was accepted for an inbox of this project, that of the first recipient.
    pub(super) fn accepted_for(&mut self, owner: Option<ProjectId>) {
        self.owner = owner;
    }

    /// Whether the transcript of the last transaction has to be recorded before this command.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Ended
    }

    /// The server replies to what the client said. `is_open`: whether the session is in a
    /// transaction now.
    pub(super) fn reply(&mut self, said: Said, reply: &Reply, is_open: bool) {
        let mut line = self
            .pending
            .take()
            .unwrap_or_else(|| Line::new(name_of(said), SeenBy::All));
        if let Some(path) = reply.path() {
            self.rejected_path(&mut line, path);
        }
        self.has_failed |= reply.refusal().is_some();
        // That of a stored message needs no allocation, because it is on the way of a delivery.
        line.reply = match reply.first_line() {
            Cow::Owned(mut line) => {
                line.truncate(short(&line).len());
                Cow::Owned(line)
            }
            stored => stored,
        };
        if said == Said::Command(Verb::Mail) && self.state == State::None {
            self.state = State::Open;
            self.lines.reserve(EXCHANGES);
        }
        match self.state {
            // Later recipients see the introduction, so it must name none.
            State::None
                if line.seen_by == SeenBy::All && self.introduction.len() < MAX_INTRODUCTION =>
            {
                self.introduction.push(line);
            }
            State::Open if self.lines.len() < MAX_EXCHANGES => self.lines.push(line),
            _ => {}
        }
        if self.state == State::Open && !is_open {
            self.state = State::Ended;
        }
    }

    /// A sender, or a recipient that was rejected before the caller was asked.
    fn rejected_path(&mut self, line: &mut Line, path: &RefusedPath) {
        match path {
            RefusedPath::Sender(path) => line.command = format!("MAIL FROM:{}", short(path)).into(),
            RefusedPath::Recipient(path) if line.seen_by == SeenBy::All => {
                line.command = format!("RCPT TO:{}", short(path)).into();
                line.seen_by = self.name(
                    EmailAddress::parse(path.trim_matches(['<', '>']))
                        .ok()
                        .as_ref(),
                );
            }
            RefusedPath::Recipient(_) => {}
        }
    }

    /// Ends the transaction. Returns its sessions, one for each recipient that it named.
    pub(super) fn end(&mut self, client: &Client<'_>) -> Vec<SmtpSession> {
        // A command without a reply: the connection was lost or closed.
        self.lines.extend(self.pending.take());
        let has_failed = self.has_failed || self.state != State::Ended;
        // A transaction with several recipients may name inboxes of several projects.
        let owner = self.owner.take().filter(|_| self.named.len() == 1);
        let sessions = (0..self.named.len()).map(|number| SmtpSession {
            id: Uuid::now_v7(),
            named: names(&self.named[number], client.mail_domain),
            project: client.project.or(owner),
            client: client.address.clone(),
            tls: client.tls.map(str::to_owned),
            has_failed,
            started_at: client.now,
            ended_at: client.now,
            exchanges: self.seen_by(number),
        });
        let sessions = sessions.collect();
        self.lines.clear();
        self.named.clear();
        self.state = State::None;
        self.has_failed = false;
        sessions
    }

    /// What the inbox of a recipient may see. The last recipient takes the lines, so that those of
    /// a message with one recipient are not copied.
    fn seen_by(&mut self, number: usize) -> Vec<Exchange> {
        let is_own = |line: &Line| [SeenBy::All, SeenBy::One(number)].contains(&line.seen_by);
        let mut seen = Vec::with_capacity(self.introduction.len() + self.lines.len());
        seen.extend(self.introduction.iter().cloned().map(Exchange::from));
        if number + 1 == self.named.len() {
            seen.extend(self.lines.drain(..).filter(is_own).map(Exchange::from));
        } else {
            seen.extend(
                self.lines
                    .iter()
                    .filter(|line| is_own(line))
                    .cloned()
                    .map(Exchange::from),
            );
        }
        seen
    }
}

impl Line {
    fn new(command: impl Into<Cow<'static, str>>, seen_by: SeenBy) -> Self {
        Self {
            command: command.into(),
            reply: Cow::Borrowed(""),
            seen_by,
        }
    }
}

impl From<Line> for Exchange {
    fn from(
        Line {
            command,
            reply,
            seen_by: _,
        }: Line,
    ) -> Self {
        Self { command, reply }
    }
}

/// The names of the inboxes to which an address may lead.
fn names(address: &EmailAddress, mail_domain: &Domain) -> Vec<String> {
    if address.domain() == mail_domain {
        InboxId::of(address)
            .meant()
            .map(|id| id.to_string())
            .collect()
    } else {
        SharedAddress::of(address)
            .meant()
            .map(|address| address.to_string())
            .collect()
    }
}

/// A command without its arguments. Those of AUTH are secret, and so may be a line that is no
/// command.
fn name_of(said: Said) -> &'static str {
    let verb = match said {
        Said::Nothing => return "",
        Said::Other => return "(no command)",
        Said::Command(verb) => verb,
    };
    match verb {
        Verb::Ehlo => "EHLO",
        Verb::Helo => "HELO",
        Verb::StartTls => "STARTTLS",
        Verb::Auth => "AUTH",
        Verb::Mail => "MAIL",
        Verb::Rcpt => "RCPT",
        Verb::Data => "DATA",
        Verb::Rset => "RSET",
        Verb::Vrfy => "VRFY",
        Verb::Help => "HELP",
        Verb::Noop => "NOOP",
        Verb::Quit => "QUIT",
    }
}

fn short(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_CHARACTERS)
        .map_or(text, |(end, _)| &text[..end])
}
