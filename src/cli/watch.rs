//! `restante watch`: prints the messages of a project as they arrive. The server's stream of
//! changes says when to look, so nothing is polled, and no wait of the key is taken.

use std::collections::{HashSet, VecDeque};
use std::io::BufRead;
use std::time::Duration;

use clap::Args;
use restante_api::MessageSummary;

use super::client::{ApiClient, ClientError, ClientFlags};
use super::error::CliError;
use super::output::{self, printable_line};
use crate::config::boolean;

/// The pause before a connection that has ended is made again.
const PAUSE: Duration = Duration::from_secs(1);
/// Ids of messages that are remembered. A page has at most 100.
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
    let inbox = flags
        .inbox
        .as_deref()
        .map(|name| client.inbox(name))
        .transpose()?
        .map(|inbox| inbox.id);
    let mut known: Option<Known> = None;
    loop {
        match follow(&client, inbox.as_deref(), flags.json, &mut known) {
            Err(Interruption::Request(error)) if known.is_none() || !error.is_temporary() => {
                return Err(error.into());
            }
            Err(Interruption::Output(error)) => return Err(error.into()),
            _ => std::thread::sleep(PAUSE),
        }
    }
}

/// Why a stream was left.
enum Interruption {
    Request(ClientError),
    Output(std::io::Error),
}

/// Prints what arrives until the stream ends. Messages that arrive between two streams are printed
/// by the next one.
fn follow(
    client: &ApiClient,
    inbox: Option<&str>,
    json: bool,
    known: &mut Option<Known>,
) -> Result<(), Interruption> {
    let lost = |error: std::io::Error| Interruption::Request(client.unreachable(error.into()));
    // The stream is opened before the list is read, so that no message is missed in between.
    for line in client.changes().map_err(Interruption::Request)?.lines() {
        let line = line.map_err(lost)?;
        if line != ": open" && !line.starts_with("data:") {
            continue;
        }
        let new = match known {
            Some(known) => known.look(client).map_err(Interruption::Request)?,
            None => {
                *known = Some(Known::now(client).map_err(Interruption::Request)?);
                output::note("Waiting for messages; Ctrl+C ends this.");
                Vec::new()
            }
        };
        for message in new
            .iter()
            .filter(|message| inbox.is_none_or(|inbox| inbox == message.inbox_id))
        {
            let printed = if json {
                output::json(message)
            } else {
                output::line(&describe(message))
            };
            printed.map_err(Interruption::Output)?;
        }
    }
    Ok(())
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
        let newest = client.project_messages("")?.messages;
        known.since = newest
            .first()
            .map(|message| message.received_at.clone())
            .unwrap_or_default();
        newest
            .into_iter()
            .for_each(|message| known.insert(message.id));
        Ok(known)
    }

    /// The messages that have arrived since the last look, oldest first.
    fn look(&mut self, client: &ApiClient) -> Result<Vec<MessageSummary>, ClientError> {
        let (mut new, mut before) = (Vec::new(), String::new());
        loop {
            let page = client.project_messages(&before)?;
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
        new.iter()
            .for_each(|message| self.insert(message.id.clone()));
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
    let MessageSummary {
        id,
        received_at,
        to,
        from,
        subject,
        code,
        ..
    } = message;
    [id, received_at, to, from, subject, code]
        .map(|column| printable_line(column))
        .join("\t")
}
