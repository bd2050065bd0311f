//! `restante explain`: explains why a message did not arrive at an inbox.

use std::fmt;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::client::{ApiClient, ClientFlags, FilterFlags};
use super::error::CliError;
use super::flags::boolean;
use super::output::{self, printable_line};

/// Which inbox, and what was expected.
#[derive(Args, Debug)]
pub(super) struct ExplainFlags {
    /// The id or the address of the inbox
    inbox: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Print the full explanation as JSON
    #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// The parts of the service's response that are printed.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Explanation {
    summary: String,
    messages: Messages,
    refused: Vec<Refused>,
    /// Fields that are printed only as JSON.
    #[serde(flatten)]
    more: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Messages {
    count: i64,
    latest: Vec<Latest>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Latest {
    id: String,
    from: String,
    subject: String,
    received_at: String,
    missed_by: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Refused {
    at: String,
    client: String,
    sender: String,
    recipient: String,
    reply: String,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(flags: &ExplainFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    // Not looked up first, because an inbox that has ended can also be explained.
    let id = flags.inbox.rsplit_once('@').map_or(flags.inbox.as_str(), |(id, _)| id);
    let explanation: Explanation = client.explain(id, &flags.filter)?;
    Ok(if flags.json { output::json(&explanation) } else { output::line(&explanation.to_string()) }?)
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable_line(&self.summary))?;
        if !self.messages.latest.is_empty() {
            formatter.write_str("\nReceived, newest first:")?;
        }
        for Latest { from, subject, received_at, .. } in &self.messages.latest {
            write!(formatter, "\n  {received_at}  {}  {}", printable_line(from), printable_line(subject))?;
        }
        if !self.refused.is_empty() {
            formatter.write_str("\nRejected, newest first:")?;
        }
        for Refused { at, client, sender, recipient, reply } in &self.refused {
            let (sender, recipient) = (printable_line(sender), printable_line(recipient));
            write!(formatter, "\n  {at}  {client}  from <{sender}> to <{recipient}>: {}", printable_line(reply))?;
        }
        Ok(())
    }
}
