//! `restante messages`: lists the messages of an inbox over HTTP, newest first.

use clap::Args;

use super::client::{ApiClient, ClientFlags, FilterFlags, Summary};
use super::error::CliError;
use super::output;
use crate::config::boolean;

/// Which messages to list, and how.
#[derive(Args, Debug)]
pub(super) struct MessagesFlags {
    /// The id or the address of the inbox
    inbox: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Print the whole messages as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(flags: &MessagesFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let inbox = client.inbox(&flags.inbox)?;
    if flags.json {
        let path = ["inboxes", &inbox.id, "messages"];
        output::copy(client.get(&path).filtered(&flags.filter).send()?)?;
        return Ok(output::line("")?);
    }
    for message in client.summaries(&inbox.id, &flags.filter)? {
        output::line(&describe(&message))?;
    }
    Ok(())
}

/// The first field is the id, which `--after` accepts. Fields are separated by tabs, for `cut`.
fn describe(message: &Summary) -> String {
    let columns = [
        &message.id,
        &message.received_at,
        &message.from,
        &message.subject,
    ];
    columns
        .map(|column| output::printable_line(column))
        .join("\t")
}
