//! `restante explain`: explains why a message did not arrive at an inbox.

use std::fmt;

use clap::Args;
use restante_api::{Arrived, Explanation, Refused};

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
    let readable = Readable {
        explanation: &explanation,
    };
    Ok(if flags.json {
        output::json(&explanation)
    } else {
        output::line(&readable.to_string())
    }?)
}

/// An explanation as text.
pub(super) struct Readable<'a> {
    pub(super) explanation: &'a Explanation,
}

impl fmt::Display for Readable<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let explanation = self.explanation;
        formatter.write_str(&printable_line(&explanation.summary))?;
        if !explanation.messages.latest.is_empty() {
            formatter.write_str("\nReceived, newest first:")?;
        }
        for Arrived {
            from,
            subject,
            received_at,
            ..
        } in &explanation.messages.latest
        {
            write!(
                formatter,
                "\n  {received_at}  {}  {}",
                printable_line(from),
                printable_line(subject)
            )?;
        }
        if !explanation.refused.is_empty() {
            formatter.write_str("\nRejected, newest first:")?;
        }
        for Refused {
            at,
            client,
            sender,
            recipient,
            reply,
        } in &explanation.refused
        {
            let sender = printable_line(sender);
            let recipient = printable_line(recipient);
            write!(
                formatter,
                "\n  {at}  {client}  from <{sender}> to <{recipient}>: {}",
                printable_line(reply)
            )?;
        }
        Ok(())
    }
}
