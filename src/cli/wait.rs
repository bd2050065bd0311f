//! `restante wait`: waits over HTTP for a message, and prints it, its code, or one of its links.
//!
//! The address of an inbox that does not exist yet is created, so that the wait can start before
//! the first mail.

use std::fmt;
use std::time::Instant;

use clap::Args;
use regex_lite::Regex;
use restante_api::{Inbox, Message};
use uuid::Uuid;

use super::client::{ApiClient, ClientError, ClientFlags, FilterFlags, Wait, Waited};
use super::error::CliError;
use super::output::{self, printable, printable_line};
use crate::config::boolean;
use crate::model::cut;
use crate::service::{MAX_WAIT, pause_before_retry};

/// Characters of a filter in a header: each may take twelve bytes.
const FILTER_CHARACTERS: usize = 160;

/// What to wait for, for how long, and what to print.
#[derive(Args, Debug)]
pub(super) struct WaitFlags {
    /// The id or the address of the inbox; an address that never had an inbox gets one
    inbox: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Maximum time to wait; a number without unit means seconds
    #[arg(long, env = "RESTANTE_TIMEOUT", value_name = "DURATION", default_value = "30s", value_parser = seconds)]
    timeout: humantime::Duration,
    /// Wait for a message with a labelled code, in any form, and print only the code
    #[arg(long, value_parser = boolean, conflicts_with_all = ["otp", "link", "json"])]
    code: bool,
    /// Wait for a message with a one-time code of digits, and print only the code: one of 4 to 8
    /// digits that is labelled, or else the first number of 6 digits
    #[arg(long, value_parser = boolean, conflicts_with_all = ["link", "json"])]
    otp: bool,
    /// Wait for a message with a matching link, and print only the first matching link
    #[arg(long, value_name = "REGEX", conflicts_with = "json")]
    link: Option<Regex>,
    /// Print the whole message as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// No message matched.
#[derive(Debug)]
pub(super) struct NoMatch {
    wanted: String,
    address: String,
    /// `None` if there was no wait.
    timeout: Option<humantime::Duration>,
    report: String,
    /// The page of the dashboard that explains it.
    help: Option<String>,
}

/// The message has more than one code, so none of them is the code.
#[derive(Debug, thiserror::Error)]
#[error("message {id} has several codes: {}; print the message with --json to choose one", .codes.join(", "))]
struct SeveralCodes {
    id: String,
    codes: Vec<String>,
}

impl From<SeveralCodes> for CliError {
    fn from(error: SeveralCodes) -> Self {
        Self::failed(error)
    }
}

/// What the command prints.
enum Answer {
    Found(String),
    /// No message matched in time: the page that explains it.
    Timeout(Option<String>),
}

impl NoMatch {
    /// There is no such message in the inbox now.
    pub(super) fn now(
        client: &ApiClient,
        inbox: &Inbox,
        filter: &FilterFlags,
    ) -> Result<Self, ClientError> {
        let report = client.explain(&inbox.id, filter)?.report;
        let wanted = wanted(filter, None);
        let address = inbox.address.clone();
        Ok(Self {
            wanted,
            address,
            timeout: None,
            report,
            help: None,
        })
    }
}

impl std::error::Error for NoMatch {}

impl fmt::Display for NoMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            wanted,
            address,
            timeout,
            report,
            help,
        } = self;
        let report = printable(report);
        match timeout {
            Some(timeout) => write!(
                formatter,
                "no {wanted} arrived at {address} within {timeout}. {report}"
            ),
            None => write!(formatter, "there is no {wanted} in {address}. {report}"),
        }?;
        help.iter()
            .try_for_each(|url| write!(formatter, "\nDetails: {}", printable_line(url)))
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
/// [`NoMatch`] if no matching message arrived in time; any other error if a request fails.
pub(super) fn run(flags: &WaitFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let inbox = match client.inbox(&flags.inbox) {
        Err(ClientError::NoInbox { name }) if name.contains('@') => new_inbox(&client, name)?,
        found => found.map_err(|error| with_end(&client, error))?,
    };
    let compared_here = flags.link.as_ref().map_or_else(String::new, |link| {
        cut(format!("link {link}"), FILTER_CHARACTERS)
    });
    let name = Uuid::now_v7().to_string();
    let named = Wait {
        name,
        compared_here,
    };
    let help = match wait(&client, &inbox.id, flags, &named)? {
        Answer::Found(answer) => return Ok(output::line(&answer)?),
        Answer::Timeout(help) => help,
    };
    let explanation = client.explain_wait(&inbox.id, &filter(flags), Some(&named))?;
    let report = explanation.report;
    let wanted = wanted(&flags.filter, Some(flags));
    let address = inbox.address;
    let timeout = Some(flags.timeout);
    Err(NoMatch {
        wanted,
        address,
        timeout,
        report,
        help,
    }
    .into())
}

/// Creates the inbox with an address that has not been used yet. One that has ended is an error:
/// its mail is gone.
fn new_inbox(client: &ApiClient, address: String) -> Result<Inbox, ClientError> {
    if client
        .explain(&address, &FilterFlags::default())
        .is_ok_and(|explanation| explanation.ended.is_some())
    {
        return Err(with_end(client, ClientError::NoInbox { name: address }));
    }
    match client.inbox_at(&address) {
        Err(ClientError::Unsupported { .. }) => Err(ClientError::NoInbox { name: address }),
        created => created,
    }
}

/// Waits again after each message that matches the filter but does not have the code or link, until
/// the time is up.
fn wait(
    client: &ApiClient,
    inbox: &str,
    flags: &WaitFlags,
    named: &Wait,
) -> Result<Answer, CliError> {
    let started = Instant::now();
    let mut filter = filter(flags);
    loop {
        let waited = started.elapsed();
        let left = flags.timeout.saturating_sub(waited);
        let waited_for = client.wait(inbox, &filter, left.min(MAX_WAIT), named);
        match waited_for.and_then(|waited| with_codes(client, waited, flags)) {
            Ok((Waited::Message(message), codes)) => match answer(&message, codes, flags)? {
                Some(answer) => return Ok(Answer::Found(answer)),
                None => filter.after = Some(message.id),
            },
            Ok((Waited::Timeout(help), _)) if left <= MAX_WAIT => return Ok(Answer::Timeout(help)),
            Ok((Waited::Timeout(_), _)) => {}
            Err(error) if error.is_temporary() && !left.is_zero() => {
                std::thread::sleep(pause_before_retry(waited).min(left));
            }
            Err(error) => return Err(with_end(client, error).into()),
        }
    }
}

/// Of an inbox that is not there, the server may know how it ended.
fn with_end(client: &ApiClient, error: ClientError) -> ClientError {
    let ClientError::NoInbox { name } = error else {
        return error;
    };
    match client.explain(&name, &FilterFlags::default()) {
        Ok(explanation) if explanation.ended.is_some() => ClientError::Ended {
            report: explanation.report,
        },
        _ => ClientError::NoInbox { name },
    }
}

/// The filter; includes the feature that `--code`, `--otp` or `--link` needs.
fn filter(flags: &WaitFlags) -> FilterFlags {
    let needed = needed_feature(flags);
    let given = flags.filter.has.as_deref().filter(|has| !has.is_empty());
    let has = [given, needed]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(",");
    FilterFlags {
        has: Some(has).filter(|has| !has.is_empty()),
        ..flags.filter.clone()
    }
}

/// The feature of a message with the part that the user asked for.
fn needed_feature(flags: &WaitFlags) -> Option<&'static str> {
    let features = [
        (flags.code, "code"),
        (flags.otp, "otp"),
        (flags.link.is_some(), "link"),
    ];
    features
        .into_iter()
        .find_map(|(is_wanted, feature)| is_wanted.then_some(feature))
}

/// The output for the message, or `None` if it does not have the code or link.
fn answer(
    message: &Message,
    codes: Vec<String>,
    flags: &WaitFlags,
) -> Result<Option<String>, SeveralCodes> {
    if flags.code {
        return code(&message.id, codes);
    }
    if flags.otp {
        return Ok(Some(message.otp.clone()).filter(|otp| !otp.is_empty()));
    }
    if let Some(pattern) = &flags.link {
        return Ok(message
            .links
            .iter()
            .find(|link| pattern.is_match(link))
            .cloned());
    }
    if flags.json {
        return Ok(serde_json::to_string(message).ok());
    }
    Ok(Some(describe(message)))
}

/// A message with its labelled codes, if they are wanted.
fn with_codes(
    client: &ApiClient,
    waited: Waited,
    flags: &WaitFlags,
) -> Result<(Waited, Vec<String>), ClientError> {
    let codes = match &waited {
        Waited::Message(message) if flags.code => client.details(&message.id)?.codes,
        _ => Vec::new(),
    };
    Ok((waited, codes.into_iter().map(|code| code.code).collect()))
}

/// The only labelled code of a message.
fn code(id: &str, mut codes: Vec<String>) -> Result<Option<String>, SeveralCodes> {
    if codes.len() > 1 {
        return Err(SeveralCodes {
            id: id.to_owned(),
            codes,
        });
    }
    Ok(codes.pop())
}

/// A message for a person.
pub(super) fn describe(message: &Message) -> String {
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
    lines.extend(
        message
            .links
            .iter()
            .map(|link| format!("Link:     {}", printable_line(link))),
    );
    lines.push(String::new());
    lines.push(printable(message.text.trim_end()).into_owned());
    lines.join("\n")
}

fn wanted(filter: &FilterFlags, flags: Option<&WaitFlags>) -> String {
    let code = flags.filter(|flags| flags.code || flags.otp).map(|flags| {
        if flags.code {
            "a code"
        } else {
            "a one-time code"
        }
        .to_owned()
    });
    let link = flags
        .and_then(|flags| flags.link.as_ref())
        .map(|pattern| format!("a link that matches {pattern}"));
    let subject = filter
        .subject
        .as_ref()
        .map(|subject| format!("{subject:?} in its subject"));
    let from = filter
        .from
        .as_ref()
        .map(|from| format!("{from:?} in its sender"));
    let to = filter
        .to
        .as_ref()
        .map(|to| format!("{to:?} in its recipients"));
    let text = filter
        .text
        .as_ref()
        .map(|text| format!("{text:?} in its text"));
    let header = filter
        .header
        .as_ref()
        .map(|header| format!("the header {header:?}"));
    let features: Vec<_> = [code, link, subject, from, to, text, header]
        .into_iter()
        .flatten()
        .collect();
    let with = if features.is_empty() {
        String::new()
    } else {
        format!(" with {}", features.join(" and "))
    };
    let later = filter
        .after
        .as_ref()
        .map_or_else(String::new, |after| format!(" later than {after}"));
    format!("message{with}{later}")
}

/// A duration with a unit, for example `500ms`, or a whole number of seconds.
fn seconds(text: &str) -> Result<humantime::Duration, &'static str> {
    match text.parse() {
        Ok(seconds) => Ok(std::time::Duration::from_secs(seconds).into()),
        Err(_) => text
            .parse()
            .map_err(|_| "write a time such as 30s, 500ms or 2m"),
    }
}
