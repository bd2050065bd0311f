//! `restante message`: prints one message over HTTP: readable, as JSON, its source, its HTML, or an
//! attachment.

use clap::Args;
use restante_api::{AttachmentInfo, Message, MessageDetails};

use super::client::{ApiClient, ClientFlags, FilterFlags};
use super::error::CliError;
use super::output::{self, printable_line};
use super::wait::{NoMatch, describe};
use crate::config::boolean;
use crate::model::MessageId;

/// Which message, and what of it.
#[derive(Args, Debug)]
pub(super) struct MessageFlags {
    /// The id or the address of the inbox, whose newest message is printed; or the id of a message
    #[arg(value_name = "INBOX|MESSAGE")]
    name: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Print the bytes as they were received
    #[arg(long, value_parser = boolean, conflicts_with_all = ["html", "attachment", "json"])]
    source: bool,
    /// Print the HTML
    #[arg(long, value_parser = boolean, conflicts_with_all = ["attachment", "json"])]
    html: bool,
    /// Print the content of an attachment; the first has number 0
    #[arg(long, value_name = "N", conflicts_with = "json")]
    attachment: Option<usize>,
    /// Print the message as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Runs the command.
///
/// # Errors
/// [`NoMatch`] if the inbox has no such message; any other error if a request fails.
pub(super) fn run(flags: &MessageFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let id = find(&client, &flags.name, &flags.filter)?;
    if flags.source {
        return output::copy(client.get(&["messages", &id, "raw"]).send()?);
    }
    if let Some(index) = flags.attachment {
        let path = ["messages", &id, "attachments", &index.to_string()];
        return output::copy(client.get(&path).send()?);
    }
    let message: Message = client.get(&["messages", &id]).read()?;
    if flags.json {
        return Ok(output::json(&message)?);
    }
    if flags.html {
        return Ok(output::line(message.html.trim_end())?);
    }
    let details: MessageDetails = client.get(&["messages", &id, "details"]).read()?;
    Ok(output::line(&readable(&message, &details.attachments))?)
}

/// The id of the message: the given one, or that of the newest in the inbox that matches.
pub(super) fn find(
    client: &ApiClient,
    name: &str,
    filter: &FilterFlags,
) -> Result<String, CliError> {
    if let Ok(id) = MessageId::parse(name) {
        return Ok(id.to_string());
    }
    let inbox = client.inbox(name)?;
    let newest = client.summaries(&inbox.id, filter)?.into_iter().next();
    match newest {
        Some(message) => Ok(message.id),
        None => Err(NoMatch::now(client, &inbox, filter)?.into()),
    }
}

fn readable(message: &Message, attachments: &[AttachmentInfo]) -> String {
    let mut text = describe(message);
    for attachment in attachments {
        let index = attachment.index;
        let name = printable_line(attachment.filename.as_deref().unwrap_or("without a name"));
        let kind = printable_line(&attachment.content_type);
        let size = attachment.size;
        text += &format!("\nAttachment {index}: {name} ({kind}, {size} bytes)");
    }
    text
}
