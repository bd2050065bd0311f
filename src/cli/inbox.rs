//! `restante inbox`: creates, shows and deletes inboxes over HTTP.

use clap::{Args, Subcommand};

use super::client::{Client, ClientFlags, Inbox};
use super::error::CliError;
use super::flags::boolean;
use super::output;

/// What to do with an inbox.
#[derive(Args, Debug)]
pub(super) struct InboxCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Creates an inbox and prints its address
    Create {
        /// Print the whole inbox as JSON instead
        #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Prints an inbox
    Get {
        /// The id or the address of the inbox
        inbox: String,
        /// Print it as JSON
        #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Deletes an inbox and its messages
    Delete {
        /// The id or the address of the inbox
        inbox: String,
        #[command(flatten)]
        client: ClientFlags,
    },
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(command: &InboxCommand) -> Result<(), CliError> {
    match &command.action {
        Action::Create { json, client } => {
            let inbox = Client::new(client)?.create_inbox()?;
            print(&inbox, *json, |inbox| inbox.address.clone())
        }
        Action::Get { inbox, json, client } => {
            let inbox = Client::new(client)?.inbox(inbox)?;
            print(&inbox, *json, describe)
        }
        Action::Delete { inbox, client } => {
            let client = Client::new(client)?;
            let inbox = client.inbox(inbox)?;
            Ok(client.delete_inbox(&inbox.id)?)
        }
    }
}

fn print(inbox: &Inbox, json: bool, describe: impl Fn(&Inbox) -> String) -> Result<(), CliError> {
    Ok(if json { output::json(inbox) } else { output::line(&describe(inbox)) }?)
}

fn describe(inbox: &Inbox) -> String {
    let expires_at = inbox.expires_at.as_deref().unwrap_or("never");
    format!("Address: {}\nKind:    {}\nCreated: {}\nExpires: {expires_at}", inbox.address, inbox.kind, inbox.created_at)
}
