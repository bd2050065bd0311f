//! `restante wait`: waits over HTTP for a message, and prints it, its code, or one of its links.

use std::fmt;
use std::time::{Duration, Instant};

use clap::Args;
use regex_lite::Regex;

use super::client::{Client, ClientError, ClientFlags, FilterFlags, Message, Summary};
use super::error::CliError;
use super::flags::{boolean, seconds};
use super::output::{self, printable, printable_line};

/// The service ends a wait after this time; a longer wait is several requests in a row.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// How many subjects are named when a wait ends without a match.
const MOST_SUBJECTS: usize = 20;

/// What to wait for, for how long, and what to print.
#[derive(Args, Debug)]
pub(super) struct WaitFlags {
    /// The id or the address of the inbox
    inbox: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// The longest time to wait; a number alone is in seconds
    #[arg(long, env = "RESTANTE_TIMEOUT", value_name = "DURATION", default_value = "30s", value_parser = seconds)]
    timeout: humantime::Duration,
    /// Wait for a message with a one-time code, and print the code alone
    #[arg(long, env = "RESTANTE_OTP", value_parser = boolean, conflicts_with_all = ["link", "json"])]
    otp: bool,
    /// Wait for a message with a link that matches, and print the first such link alone
    #[arg(long, env = "RESTANTE_LINK", value_name = "REGEX", conflicts_with = "json")]
    link: Option<Regex>,
    /// Print the whole message as JSON
    #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// The wait ended without a match.
#[derive(Debug)]
pub(super) struct NoMatch {
    wanted: String,
    address: String,
    timeout: humantime::Duration,
    arrived: Vec<Summary>,
}

impl std::error::Error for NoMatch {}

impl fmt::Display for NoMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no {} came to {} within {}. ", self.wanted, self.address, self.timeout)?;
        if self.arrived.is_empty() {
            return formatter.write_str("Nothing else came either.");
        }
        write!(formatter, "What did come, newest first:")?;
        for message in self.arrived.iter().take(MOST_SUBJECTS) {
            write!(formatter, "\n  {}", printable_line(&message.subject))?;
        }
        match self.arrived.len().saturating_sub(MOST_SUBJECTS) {
            0 => Ok(()),
            more => write!(formatter, "\n  and {more} more"),
        }
    }
}

impl From<NoMatch> for CliError {
    fn from(error: NoMatch) -> Self {
        Self::failed(error)
    }
}

/// Runs the command.
///
/// # Errors
/// [`CliError::NoMatch`] if nothing arrived in time; any other if a request fails.
pub(super) fn run(flags: &WaitFlags) -> Result<(), CliError> {
    let client = Client::new(&flags.client)?;
    let inbox = client.inbox(&flags.inbox)?;
    let Some(answer) = wait(&client, &inbox.id, flags)? else {
        let everything = FilterFlags { subject: None, after: flags.filter.after.clone() };
        let arrived = client.summaries(&inbox.id, &everything)?;
        return Err(NoMatch { wanted: wanted(flags), address: inbox.address, timeout: flags.timeout, arrived }.into());
    };
    Ok(output::line(&answer)?)
}

/// Waits again after each message that matches the filter but has no such code or link, until the time is up.
fn wait(client: &Client, inbox: &str, flags: &WaitFlags) -> Result<Option<String>, ClientError> {
    let started = Instant::now();
    let mut filter = flags.filter.clone();
    loop {
        let left = flags.timeout.saturating_sub(started.elapsed());
        match client.wait(inbox, &filter, left.min(LONGEST_WAIT))? {
            Some(message) => match answer(&message, flags) {
                Some(answer) => return Ok(Some(answer)),
                None => filter.after = Some(message.id),
            },
            None if left <= LONGEST_WAIT => return Ok(None),
            None => {}
        }
    }
}

/// What to print of the message, or `None` if it has no such code or link.
fn answer(message: &Message, flags: &WaitFlags) -> Option<String> {
    if flags.otp {
        return Some(message.otp.clone()).filter(|otp| !otp.is_empty());
    }
    if let Some(pattern) = &flags.link {
        return message.links.iter().find(|link| pattern.is_match(link)).cloned();
    }
    if flags.json {
        return serde_json::to_string(message).ok();
    }
    Some(describe(message))
}

fn describe(message: &Message) -> String {
    let mut lines = vec![
        format!("Id:       {}", message.id),
        format!("From:     {}", printable_line(&message.from)),
        format!("To:       {}", message.to),
        format!("Subject:  {}", printable_line(&message.subject)),
        format!("Received: {}", message.received_at),
    ];
    if !message.otp.is_empty() {
        lines.push(format!("Code:     {}", message.otp));
    }
    lines.extend(message.links.iter().map(|link| format!("Link:     {}", printable_line(link))));
    lines.push(String::new());
    lines.push(printable(message.text.trim_end()).into_owned());
    lines.join("\n")
}

fn wanted(flags: &WaitFlags) -> String {
    let code = flags.otp.then(|| "a one-time code".to_owned());
    let link = flags.link.as_ref().map(|pattern| format!("a link that matches {pattern}"));
    let subject = flags.filter.subject.as_ref().map(|subject| format!("{subject:?} in its subject"));
    let features: Vec<_> = [code, link, subject].into_iter().flatten().collect();
    let with = if features.is_empty() { String::new() } else { format!(" with {}", features.join(" and ")) };
    let later = flags.filter.after.as_ref().map_or_else(String::new, |after| format!(" later than {after}"));
    format!("message{with}{later}")
}
