//! `restante explain`: explains why a message did not arrive at an inbox.

use clap::Args;

use super::client::{ApiClient, ClientFlags, FilterFlags};
use super::error::CliError;
use super::output::{self, printable};
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
    output::print(&explanation, flags.json, |explanation| {
        printable(&explanation.report).into_owned()
    })
}
