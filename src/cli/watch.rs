//! `restante watch`: prints the messages of a project as they arrive. The server's stream of
//! changes says when to look, so nothing is polled, and no wait of the key is taken.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader};
use std::time::Duration;

use clap::Args;
use restante_api::{MessageSummary, ProjectMessages};

use super::client::{ApiClient, ClientError, ClientFlags};
use super::error::CliError;
use super::output::{self, printable_line};
use crate::config::boolean;

/// The pause before a connection that has ended is made again.
const PAUSE: Duration = Duration::from_secs(1);
/// The server sends something every 15 seconds.
const STREAM_SILENCE: Duration = Duration::from_secs(60);
/// Messages of one request.
const PAGE: &str = "100";
/// Ids of messages that are remembered, many more than those of a page.
const REMEMBERED: usize = 10_000;

/// Which messages, and how.
#[derive(Args, Debug)]
pub(super) struct WatchFlags {
    /// The id or the address of an inbox [default: all inboxes of the project]
    inbox: Option<String>,
    /// Print each message as a line of JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Runs the command until it is interrupted.
///
/// # Errors
/// [`CliError`] if the first request fails, or a later one for a reason that is not temporary.
pub(super) fn run(flags: &WatchFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let inbox = flags.inbox.as_deref().map(|name| client.inbox(name));
    let inbox = inbox.transpose()?.map(|inbox| inbox.id);
    let mut known: Option<Known> = None;
    loop {
        match follow(&client, inbox.as_deref(), flags.json, &mut known) {
            Err(CliError::Client(error)) if known.is_some() && error.is_temporary() => {}
            ended => ended?,
        }
        std::thread::sleep(PAUSE);
    }
}

/// Prints what arrives until the stream ends. Messages that arrive between two streams are printed
/// by the next one.
fn follow(
    client: &ApiClient,
    inbox: Option<&str>,
    json: bool,
    known: &mut Option<Known>,
) -> Result<(), CliError> {
    // The stream is opened before the list is read, so that no message is missed in between.
    let changes = client.get(&["project", "changes"]).longer(STREAM_SILENCE);
    for line in BufReader::new(changes.send()?).lines() {
        let line = line.map_err(|error| client.unreachable(error))?;
        if line != ": open" && !line.starts_with("data:") {
            continue;
        }
        let Some(known) = known else {
            *known = Some(Known::now(client)?);
            output::note("Waiting for messages; Ctrl+C ends this.");
            continue;
        };
        for message in known.look(client)? {
            if inbox.is_none_or(|inbox| inbox == message.inbox_id) {
                output::print(&message, json, describe)?;
            }
        }
    }
    Ok(())
}

/// A page of the messages of the project, newest first; `before` is `next` of the page before.
fn page(client: &ApiClient, before: &str) -> Result<ProjectMessages, ClientError> {
    let page = client.get(&["project", "messages"]).query("limit", PAGE);
    page.query("before", before).read()
}

/// The messages that were there or were printed.
struct Known {
    ids: HashSet<String>,
    order: VecDeque<String>,
    /// Older messages were there at the start.
    since: String,
}

impl Known {
    /// All messages that are there now.
    fn now(client: &ApiClient) -> Result<Self, ClientError> {
        let mut known = Self {
            ids: HashSet::new(),
            order: VecDeque::new(),
            since: String::new(),
        };
        let newest = page(client, "")?.messages;
        if let Some(message) = newest.first() {
            known.since.clone_from(&message.received_at);
        }
        for message in newest {
            known.insert(message.id);
        }
        Ok(known)
    }

    /// The messages that have arrived since the last look, oldest first.
    fn look(&mut self, client: &ApiClient) -> Result<Vec<MessageSummary>, ClientError> {
        let mut new = Vec::new();
        let mut before = String::new();
        loop {
            let page = page(client, &before)?;
            // Times have the same format, so they compare as text.
            let reaches_known = page.messages.iter().any(|message| !self.is_new(message));
            new.extend(
                page.messages
                    .into_iter()
                    .filter(|message| self.is_new(message)),
            );
            match page.next.filter(|_| !reaches_known) {
                Some(next) => before = next,
                None => break,
            }
        }
        new.reverse();
        for message in &new {
            self.insert(message.id.clone());
        }
        Ok(new)
    }

    fn is_new(&self, message: &MessageSummary) -> bool {
        message.received_at >= self.since && !self.ids.contains(&message.id)
    }

    fn insert(&mut self, id: String) {
        if self.ids.insert(id.clone()) {
            self.order.push_back(id);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

/// The first field is the id, which `restante message` accepts. Fields are separated by tabs, for
/// `cut`.
fn describe(message: &MessageSummary) -> String {
    let columns = [
        &message.id,
        &message.received_at,
        &message.to,
        &message.from,
        &message.subject,
        &message.code,
    ];
    columns.map(|column| printable_line(column)).join("\t")
}
