//! `restante forward`: forwards a message over HTTP, for example to a person who has to look at it.

use clap::Args;

use super::client::{ApiClient, ClientFlags, FilterFlags, address};
use super::error::CliError;
use super::message;
use super::output;
use crate::config::boolean;

/// Which message, and to whom.
#[derive(Args, Debug)]
pub(super) struct ForwardFlags {
    /// The id or the address of the inbox, whose newest message is forwarded; or the id of a
    /// message
    #[arg(value_name = "INBOX|MESSAGE")]
    name: String,
    /// The recipient, one bare address
    #[arg(value_name = "RECIPIENT", value_parser = address)]
    recipient: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Print the id and the status as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Runs the command. It prints the id of the outgoing message.
///
/// # Errors
/// [`CliError`] if there is no such message, or if a request fails.
pub(super) fn run(flags: &ForwardFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let id = message::find(&client, &flags.name, &flags.filter)?;
    let accepted = client.forward(&id, &flags.recipient)?;
    Ok(if flags.json {
        output::json(&accepted)
    } else {
        output::line(&accepted.id)
    }?)
}
