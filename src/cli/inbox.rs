//! `restante inbox`: creates, shows, lists and deletes inboxes over HTTP; lists those of a local
//! database too.

use std::path::PathBuf;

use axum::http::Method;
use clap::{Args, Subcommand};
use restante_api::{Inbox, InboxList, InboxSummary};

use super::client::{ApiClient, ClientError, ClientFlags};
use super::error::CliError;
use super::{database, output};
use crate::clock::Clock;
use crate::config::{Data, DatabaseUrl, boolean, database_url, secret};
use crate::model::InboxSummary as LocalSummary;
use crate::service::Projects;

/// Inboxes of one request.
const PAGE: &str = "1000";

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
        /// The address [default: a new one]; if the project has this inbox already, it is kept
        address: Option<String>,
        /// Print the whole inbox as JSON instead
        #[arg(long, value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Print an inbox
    Get {
        /// The id or the address of the inbox
        inbox: String,
        /// Print it as JSON
        #[arg(long, value_parser = boolean)]
        json: bool,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// List the inboxes of the project: id, kind, messages, creation, expiry and address
    List(ListFlags),
    /// Delete an inbox and its messages
    Delete {
        /// The id or the address of the inbox
        inbox: String,
        #[command(flatten)]
        client: ClientFlags,
    },
}

/// The project, over HTTP by its key, or in a local database.
#[derive(Args, Debug)]
struct ListFlags {
    /// Print them as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
    /// Read the database in this directory instead, with a running server or without one
    #[arg(long, env = "RESTANTE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Read this database instead, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`
    #[arg(
        long, env = "RESTANTE_DATABASE", value_name = "URL", hide_env_values = true,
        value_parser = secret(database_url)
    )]
    database: Option<DatabaseUrl>,
    /// The name of the project in that database [default: the default project]
    #[arg(long, env = "RESTANTE_PROJECT", value_name = "NAME")]
    project: Option<String>,
}

/// A project is named, but no database.
#[derive(Debug, thiserror::Error)]
#[error(
    "--project: over HTTP the API key decides the project; add --data-dir or --database to read a database"
)]
pub(super) struct ProjectOverHttp;

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request or the database fails.
pub(super) fn run(command: &InboxCommand) -> Result<(), CliError> {
    match &command.action {
        Action::Create {
            address,
            json,
            client,
        } => {
            let client = ApiClient::new(client)?;
            let inbox = match address {
                Some(address) => client.inbox_at(address)?,
                None => client.call(Method::POST, &["inboxes"]).read()?,
            };
            output::print(&inbox, *json, |inbox| inbox.address.clone())
        }
        Action::Get {
            inbox,
            json,
            client,
        } => {
            let inbox = ApiClient::new(client)?.inbox(inbox)?;
            output::print(&inbox, *json, describe)
        }
        Action::List(flags) => match flags.data() {
            Some(data) => list_locally(&data, flags),
            None if flags.project.is_some() => Err(ProjectOverHttp.into()),
            None => print_list(&inboxes(&ApiClient::new(&flags.client)?)?, flags.json),
        },
        Action::Delete { inbox, client } => {
            let client = ApiClient::new(client)?;
            let inbox = client.inbox(inbox)?;
            let path = ["inboxes", &inbox.id];
            client.call(Method::DELETE, &path).send()?;
            Ok(())
        }
    }
}

impl ListFlags {
    /// The local database, if one is given.
    fn data(&self) -> Option<Data> {
        let is_local = self.data_dir.is_some() || self.database.is_some();
        let data_dir = self.data_dir.clone().unwrap_or_default();
        is_local.then(|| Data {
            data_dir,
            database: self.database.clone(),
        })
    }
}

/// All inboxes of the project, those with the latest activity first.
fn inboxes(client: &ApiClient) -> Result<InboxList, ClientError> {
    let mut all = InboxList {
        inboxes: Vec::new(),
        next: Some(String::new()),
    };
    while let Some(after) = all.next.take() {
        let page = client.get(&["project", "inboxes"]).query("limit", PAGE);
        let page: InboxList = page.query("after", &after).read()?;
        all.inboxes.extend(page.inboxes);
        all.next = page.next;
    }
    Ok(all)
}

/// Reads the database, so it works whether or not a server is running.
fn list_locally(data: &Data, flags: &ListFlags) -> Result<(), CliError> {
    let url = data.url();
    database::refuse_absent(&url)?;
    let open = |database| Projects::open(database, Clock::system());
    database::with(url, open, async |projects| {
        let found = projects
            .inboxes(flags.project.as_deref())
            .await
            .map_err(CliError::other)?;
        let inboxes = found.into_iter().map(summary).collect();
        print_list(
            &InboxList {
                inboxes,
                next: None,
            },
            flags.json,
        )
    })
}

/// The database does not have the mail domain, so an address on it is the local part alone.
fn summary(local: LocalSummary) -> InboxSummary {
    let inbox = local.inbox;
    let id = inbox.id.to_string();
    let address = match &inbox.shared {
        Some(shared) => shared.to_string(),
        None => id.clone(),
    };
    InboxSummary {
        inbox: Inbox {
            id,
            address,
            kind: inbox.kind,
            created_at: inbox.created_at.to_string(),
            expires_at: inbox.expires_at.map(|at| at.to_string()),
        },
        messages: local.messages,
        last_received_at: local.last_received_at.map(|at| at.to_string()),
    }
}

fn print_list(list: &InboxList, json: bool) -> Result<(), CliError> {
    if json {
        return Ok(output::json(list)?);
    }
    Ok(list
        .inboxes
        .iter()
        .try_for_each(|inbox| output::line(&summary_line(inbox)))?)
}

fn summary_line(summary: &InboxSummary) -> String {
    let inbox = &summary.inbox;
    let expires_at = inbox.expires_at.as_deref().unwrap_or("never");
    let Inbox {
        id,
        address,
        kind,
        created_at,
        ..
    } = inbox;
    let messages = summary.messages;
    format!("{id}\t{kind}\t{messages}\t{created_at}\t{expires_at}\t{address}")
}

fn describe(inbox: &Inbox) -> String {
    let expires_at = inbox.expires_at.as_deref().unwrap_or("never");
    format!(
        "Address: {}\nKind:    {}\nCreated: {}\nExpires: {expires_at}",
        inbox.address, inbox.kind, inbox.created_at
    )
}
