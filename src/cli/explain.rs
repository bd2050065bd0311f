//! `restante explain`: explains why a message did not arrive at an inbox.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use restante_api::{Arrived, Explanation, MissedBy, Refused};

use super::client::{ApiClient, ClientFlags, FilterFlags};
use super::error::CliError;
use super::output::{self, printable_line};
use crate::config::boolean;

/// Which inbox, and what was expected.
#[derive(Args, Debug)]
pub(super) struct ExplainFlags {
    /// The id or the address of the inbox
    inbox: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Print the full explanation as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(flags: &ExplainFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let explanation = client.explain(&flags.inbox, &flags.filter)?;
    let readable = Readable { explanation: &explanation, flag_of_has: "--has" };
    Ok(if flags.json { output::json(&explanation) } else { output::line(&readable.to_string()) }?)
}

/// An explanation as text.
pub(super) struct Readable<'a> {
    pub(super) explanation: &'a Explanation,
    /// The flag with which the user asked for a code or a link.
    pub(super) flag_of_has: &'a str,
}

impl Readable<'_> {
    /// The summary, with the flags of this command in place of the names of filters.
    fn summary(&self) -> String {
        let summary = printable_line(&self.explanation.summary).into_owned();
        let missed = self.explanation.messages.latest.iter().flat_map(|message| message.missed_by.iter().copied());
        let names: BTreeSet<&str> = missed.map(MissedBy::as_str).collect();
        let flags = names.iter().map(|name| match *name {
            "has" => self.flag_of_has.to_owned(),
            name => format!("--{name}"),
        });
        let listed = |names: Vec<String>| format!("({})", names.join(", "));
        let named = listed(names.iter().map(|name| (*name).to_owned()).collect());
        summary.replacen(&named, &listed(flags.collect()), 1)
    }
}

impl fmt::Display for Readable<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let explanation = self.explanation;
        formatter.write_str(&self.summary())?;
        if !explanation.messages.latest.is_empty() {
            formatter.write_str("\nReceived, newest first:")?;
        }
        for Arrived { from, subject, received_at, .. } in &explanation.messages.latest {
            write!(formatter, "\n  {received_at}  {}  {}", printable_line(from), printable_line(subject))?;
        }
        if !explanation.refused.is_empty() {
            formatter.write_str("\nRejected, newest first:")?;
        }
        for Refused { at, client, sender, recipient, reply } in &explanation.refused {
            let (sender, recipient) = (printable_line(sender), printable_line(recipient));
            write!(formatter, "\n  {at}  {client}  from <{sender}> to <{recipient}>: {}", printable_line(reply))?;
        }
        Ok(())
    }
}
