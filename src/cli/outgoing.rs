//! `restante outgoing`: manages the queue of mail to other domains in the database, whether or not
//! a server is running.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::CliError;
use super::output::printable_line;
use super::{database, output};
use crate::clock::Clock;
use crate::config::{Data, boolean};
use crate::model::{Outgoing, OutgoingFilter, OutgoingId, OutgoingStatus, Timestamp};
use crate::service::Outbox;

/// What to do with outgoing items.
#[derive(Args, Debug)]
pub(super) struct OutgoingCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: Data,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List outgoing items, newest first
    List {
        /// Only items with this status
        #[arg(long, value_name = "STATUS", value_parser = statuses())]
        status: Option<OutgoingStatus>,
        /// Maximum number of items to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// Print them as JSON
        #[arg(long, value_parser = boolean)]
        json: bool,
    },
    /// Show all details of an item
    Show {
        /// The id of the item, as `restante send` prints it
        #[arg(value_parser = id)]
        id: OutgoingId,
    },
    /// Retry an item now, even if it failed or was cancelled
    Retry {
        /// The id of the item
        #[arg(value_parser = id)]
        id: OutgoingId,
    },
    /// Remove an item from the queue
    Cancel {
        /// The id of the item
        #[arg(value_parser = id)]
        id: OutgoingId,
    },
}

/// Parses the name of a status.
fn statuses() -> impl TypedValueParser<Value = OutgoingStatus> {
    let words = PossibleValuesParser::new(OutgoingStatus::ALL.iter().map(|status| status.as_str()));
    words.try_map(|word| OutgoingStatus::of_word(&word).ok_or("not a status"))
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if the database cannot be used or the change is rejected.
pub(super) fn run(command: &OutgoingCommand) -> Result<(), CliError> {
    let url = command.data.url();
    database::refuse_absent(&url)?;
    let open = |database| Outbox::open(database, Clock::system());
    database::with(url, open, async |outbox| {
        carry_out(&outbox, &command.action).await
    })
}

async fn carry_out(outbox: &Outbox, action: &Action) -> Result<(), CliError> {
    match action {
        Action::List {
            status,
            limit,
            json,
        } => {
            let filter = OutgoingFilter {
                status: *status,
                ..OutgoingFilter::default()
            };
            let items = outbox.list(&filter, *limit).await?;
            output::print(&list_json(&items), *json, |_| table(&items))?;
        }
        Action::Show { id } => output::line(&describe(&outbox.find(*id).await?))?,
        Action::Retry { id } => {
            outbox.retry(*id).await?;
            output::note(&format!("{id} will be retried now."));
        }
        Action::Cancel { id } => {
            outbox.cancel(*id).await?;
            output::note(&format!("{id} is cancelled."));
        }
    }
    Ok(())
}

/// The list as JSON.
fn list_json(items: &[Outgoing]) -> Value {
    let item = |item: &Outgoing| {
        json!({
            "id": item.id.to_string(),
            "inbox_id": item.inbox.as_str(),
            "to": item.recipient,
            "subject": item.subject,
            "status": item.status,
            "attempts": item.attempts,
            "last_reply": item.last_reply,
            "next_attempt_at": item.due_at,
            "created_at": item.created_at,
        })
    };
    json!({"outgoing": items.iter().map(item).collect::<Vec<_>>()})
}

fn table(items: &[Outgoing]) -> String {
    let mut lines = vec![format!(
        "{:36}  {:9}  ATTEMPTS  {:24}  RECIPIENT",
        "ID", "STATUS", "NEXT ATTEMPT"
    )];
    lines.extend(items.iter().map(|item| {
        let recipient = printable_line(&item.recipient);
        format!(
            "{}  {:9}  {:8}  {:24}  {recipient}",
            item.id,
            item.status,
            item.attempts,
            instant(item.due_at)
        )
    }));
    lines.join("\n")
}

fn describe(item: &Outgoing) -> String {
    let reply = if item.last_reply.is_empty() {
        "-".into()
    } else {
        printable_line(&item.last_reply)
    };
    [
        format!("Id:           {}", item.id),
        format!(
            "Status:       {}{}",
            item.status,
            if item.leased_until.is_some() {
                ", being sent"
            } else {
                ""
            }
        ),
        format!("Inbox:        {}", printable_line(item.inbox.as_str())),
        format!("To:           {}", printable_line(&item.recipient)),
        format!("Subject:      {}", printable_line(&item.subject)),
        format!("Message-ID:   {}", printable_line(&item.message_id)),
        format!("Created:      {}", item.created_at),
        format!("Attempts:     {}", item.attempts),
        format!("Last attempt: {}", instant(item.attempted_at)),
        format!("Last reply:   {reply}"),
        format!("Next attempt: {}", instant(item.due_at)),
        format!("Expires at:   {}", instant(item.expires_at)),
    ]
    .join("\n")
}

fn instant(instant: Option<Timestamp>) -> String {
    instant.map_or_else(|| "-".to_owned(), |instant| instant.to_string())
}

fn id(text: &str) -> Result<OutgoingId, &'static str> {
    OutgoingId::parse(text).map_err(|_| "write an id as `restante outgoing list` prints it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InboxId, ProjectId};

    fn item() -> Outgoing {
        Outgoing {
            id: OutgoingId(uuid::Uuid::nil()),
            project: ProjectId(uuid::Uuid::now_v7()),
            inbox: InboxId::parse("k3v9").unwrap(),
            recipient: "a@b.example".to_owned(),
            subject: "Hello\x1b[2J".to_owned(),
            message_id: "<1@restante.example.com>".to_owned(),
            status: OutgoingStatus::Queued,
            created_at: Timestamp::from_millis(0),
            attempts: 2,
            attempted_at: Some(Timestamp::from_millis(60_000)),
            due_at: Some(Timestamp::from_millis(360_000)),
            expires_at: Some(Timestamp::from_millis(86_400_000)),
            leased_until: None,
            last_reply: "mx answered RCPT with 450 later".to_owned(),
            is_report: false,
            shared: None,
        }
    }

    #[test]
    fn the_table_lines_up() {
        let expected = "\
             ID                                    STATUS     ATTEMPTS  NEXT ATTEMPT              RECIPIENT\n\
             00000000-0000-0000-0000-000000000000  queued            2  1970-01-01T00:06:00.000Z  a@b.example";
        assert_eq!(table(&[item()]), expected);
    }

    #[test]
    fn foreign_text_does_not_control_the_terminal() {
        let shown = describe(&item());
        assert!(shown.contains("Subject:      Hello\u{fffd}[2J"), "{shown}");
        assert!(
            shown.contains("Last reply:   mx answered RCPT with 450 later"),
            "{shown}"
        );
    }
}
