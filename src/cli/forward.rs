//! `restante forward`: forwards a message over HTTP, for example to a person who has to look at it.

use axum::http::Method;
use clap::Args;
use restante_api::ForwardBody;

use super::client::{ApiClient, ClientFlags, FilterFlags, address};
use super::error::CliError;
use super::{message, send};
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
    let body = ForwardBody {
        to: flags.recipient.clone(),
    };
    let path = ["messages", &id, "forward"];
    let accepted = client.call(Method::POST, &path).json(&body).read()?;
    send::print(&accepted, flags.json)
}
