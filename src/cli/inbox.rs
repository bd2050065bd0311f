//! `restante inbox`: creates, shows and deletes inboxes over HTTP, and lists those in the database.

use clap::{Args, Subcommand};
use restante_api::Inbox;

use super::client::{ApiClient, ClientFlags};
use super::error::CliError;
use super::{database, output};
use crate::clock::Clock;
use crate::config::{Data, boolean};
use crate::model::InboxSummary;
use crate::service::Projects;

/// What to do with an inbox.
#[derive(Args, Debug)]
pub(super) struct InboxCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Create an inbox and print its address
    Create {
        /// Print the whole inbox as JSON instead
        #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Print an inbox
    Get {
        /// The id or the address of the inbox
        inbox: String,
        /// Print it as JSON
        #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// List the inboxes of a project in the database: id, kind, messages, creation and expiry
    List {
        /// The name of the project [default: the default project]
        #[arg(long, env = "RESTANTE_PROJECT", value_name = "NAME")]
        project: Option<String>,
        #[command(flatten)]
        data: Data,
    },
    /// Delete an inbox and its messages
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
            let inbox = ApiClient::new(client)?.create_inbox()?;
            print(&inbox, *json, |inbox| inbox.address.clone())
        }
        Action::Get { inbox, json, client } => {
            let inbox = ApiClient::new(client)?.inbox(inbox)?;
            print(&inbox, *json, describe)
        }
        Action::List { project, data } => list(project.as_deref(), data),
        Action::Delete { inbox, client } => {
            let client = ApiClient::new(client)?;
            let inbox = client.inbox(inbox)?;
            Ok(client.delete_inbox(&inbox.id)?)
        }
    }
}

/// Reads the database, so it works whether or not a server is running.
fn list(project: Option<&str>, data: &Data) -> Result<(), CliError> {
    let url = data.url();
    database::refuse_absent(&url)?;
    let open = |database| Projects::open(database, Clock::system());
    database::with(url, open, async |projects| {
        for summary in projects.inboxes(project).await.map_err(CliError::failed)? {
            output::line(&summary_line(&summary))?;
        }
        Ok(())
    })
}

fn summary_line(InboxSummary { inbox, messages, .. }: &InboxSummary) -> String {
    let expires_at = inbox.expires_at.map_or_else(|| "never".to_owned(), |expires_at| expires_at.to_string());
    format!("{}\t{}\t{messages}\t{}\t{expires_at}", inbox.id, inbox.kind.as_str(), inbox.created_at)
}

fn print(inbox: &Inbox, json: bool, describe: impl Fn(&Inbox) -> String) -> Result<(), CliError> {
    Ok(if json { output::json(inbox) } else { output::line(&describe(inbox)) }?)
}

fn describe(inbox: &Inbox) -> String {
    let expires_at = inbox.expires_at.as_deref().unwrap_or("never");
    format!("Address: {}\nKind:    {}\nCreated: {}\nExpires: {expires_at}", inbox.address, inbox.kind, inbox.created_at)
}
