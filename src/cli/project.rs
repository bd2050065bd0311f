//! `restante project`: manages projects and their keys in the database, whether or not a server is
//! running.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::CliError;
use super::{data_dir, database, output};
use crate::clock::Clock;
use crate::config::{Data, boolean};
use crate::model::Project;
use crate::service::Projects;

/// What to do with a project.
#[derive(Args, Debug)]
pub(super) struct ProjectCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: Data,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Create a project and print its API key (shown only once)
    Create {
        /// The name of the new project
        name: String,
    },
    /// List the projects
    List {
        /// Print them as JSON
        #[arg(long, value_parser = boolean)]
        json: bool,
    },
    /// Create a new API key for a project and print it (shown only once)
    RotateKey {
        /// The name of the project
        name: String,
        /// Keep the old key valid for this long [default: none]
        #[arg(long, value_name = "DURATION")]
        overlap: Option<humantime::Duration>,
    },
    /// Delete a project with its key, inboxes and messages
    Delete {
        /// The name of the project
        name: String,
    },
}

/// Runs the command. Only keys and the list are written to standard output.
///
/// # Errors
/// [`CliError`] if the database cannot be used or the change is rejected.
pub(super) fn run(command: &ProjectCommand) -> Result<(), CliError> {
    let url = command.data.url();
    if matches!(command.action, Action::Create { .. }) {
        data_dir::create(&command.data.data_dir)?;
        data_dir::create_database(&url)?;
    } else {
        database::refuse_absent(&url)?;
    }
    let open = |database| Projects::open(database, Clock::system());
    database::with(url, open, async |projects| {
        carry_out(&projects, &command.action).await
    })
}

async fn carry_out(projects: &Projects, action: &Action) -> Result<(), CliError> {
    match action {
        Action::Create { name } => {
            let key = projects.create(name).await?;
            output::line(key.as_str())?;
            output::note(&format!(
                "Created the project {name}. Store its API key; it is not shown again."
            ));
        }
        Action::List { json } => {
            let projects = projects.list().await?;
            output::print(&list_json(&projects), *json, |_| table(&projects))?;
        }
        Action::RotateKey { name, overlap } => {
            let overlap = overlap.unwrap_or_default();
            let key = projects.rotate_key(name, *overlap).await?;
            output::line(key.as_str())?;
            let old = if overlap.is_zero() {
                "stops within 2 s".to_owned()
            } else {
                format!("stops in {overlap}")
            };
            output::note(&format!(
                "Store the new API key of {name}; it is not shown again. The old key {old}."
            ));
        }
        Action::Delete { name } => {
            projects.delete(name).await?;
            output::note(&format!("Deleted the project {name}."));
        }
    }
    Ok(())
}

/// The list as JSON.
fn list_json(projects: &[Project]) -> Value {
    let project = |project: &Project| {
        json!({
            "name": project.name,
            "is_default": project.is_default,
            "key_last_four": project.key_last_four,
            "inboxes": project.inboxes,
            "created_at": project.created_at,
        })
    };
    json!({"projects": projects.iter().map(project).collect::<Vec<_>>()})
}

fn table(projects: &[Project]) -> String {
    let width = projects
        .iter()
        .map(|project| project.name.chars().count())
        .max()
        .unwrap_or(0)
        .max("NAME".len());
    let mut lines = vec![format!("{:width$}  KEY      INBOXES  CREATED", "NAME")];
    lines.extend(projects.iter().map(|project| {
        let default = if project.is_default {
            "  (default)"
        } else {
            ""
        };
        format!(
            "{:width$}  …{:6}  {:7}  {}{default}",
            project.name, project.key_last_four, project.inboxes, project.created_at
        )
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProjectId, Timestamp};

    #[test]
    fn the_table_lines_up() {
        let project = |name: &str, is_default| Project {
            id: ProjectId(uuid::Uuid::now_v7()),
            name: name.to_owned(),
            is_default,
            created_at: Timestamp::from_millis(0),
            key_last_four: "wXyZ".to_owned(),
            inboxes: 12,
        };
        let expected = "NAME         KEY      INBOXES  CREATED\n\
                        default      …wXyZ         12  1970-01-01T00:00:00.000Z  (default)\n\
                        größer shop  …wXyZ         12  1970-01-01T00:00:00.000Z";
        assert_eq!(
            table(&[project("default", true), project("größer shop", false)]),
            expected
        );
    }
}
