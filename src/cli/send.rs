//! `restante send`: sends a message from an inbox over HTTP.

use std::io::{self, Read};

use axum::http::Method;
use clap::Args;
use restante_api::{SendAccepted, SendMessageBody};

use super::client::{ApiClient, ClientFlags, address};
use super::error::CliError;
use super::output;
use crate::config::boolean;

/// The message.
#[derive(Args, Debug)]
pub(super) struct SendFlags {
    /// The id or the address of the inbox that sends
    inbox: String,
    /// The recipient, one bare address
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    to: String,
    /// The subject
    #[arg(long, value_name = "TEXT", default_value = "")]
    subject: String,
    /// The text [default: standard input, unless there is --html]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// The HTML
    #[arg(long, value_name = "HTML")]
    html: Option<String>,
    /// The id of the message to reply to
    #[arg(long, value_name = "ID")]
    in_reply_to: Option<String>,
    /// Print the id and the status as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// The text cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the text from standard input: pass UTF-8, or use --text")]
pub(super) struct InputError(#[source] io::Error);

/// Runs the command. It prints the id of the outgoing message.
///
/// # Errors
/// [`CliError`] if the text cannot be read or the request fails.
pub(super) fn run(flags: &SendFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let inbox = client.inbox(&flags.inbox)?;
    let message = SendMessageBody {
        to: flags.to.clone(),
        subject: flags.subject.clone(),
        text: text(flags)?,
        html: flags.html.clone(),
        in_reply_to: flags.in_reply_to.clone(),
    };
    let path = ["inboxes", &inbox.id, "messages"];
    print(
        &client.call(Method::POST, &path).json(&message).read()?,
        flags.json,
    )
}

/// Prints the id of the outgoing message.
pub(super) fn print(accepted: &SendAccepted, json: bool) -> Result<(), CliError> {
    output::print(accepted, json, |accepted| accepted.id.clone())
}

fn text(flags: &SendFlags) -> Result<Option<String>, CliError> {
    if flags.text.is_some() || flags.html.is_some() {
        return Ok(flags.text.clone());
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(InputError)?;
    Ok(Some(text))
}
