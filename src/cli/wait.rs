//! `restante wait`: waits over HTTP for a message, and prints it, its code, or one of its links.
//!
//! The address of an inbox that does not exist yet is created, so that the wait can start before
//! the first mail.

use std::time::{Duration, Instant};

use clap::Args;
use regex_lite::Regex;
use restante_api::{Explanation, Inbox, Message, MessageDetails};
use uuid::Uuid;

use super::client::{ApiClient, Call, ClientError, ClientFlags, FilterFlags};
use super::error::CliError;
use super::output::{self, printable, printable_line};
use crate::config::boolean;
use crate::http::path_segment;
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
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoMatch(String);

impl NoMatch {
    /// There is no such message in the inbox now.
    pub(super) fn now(
        client: &ApiClient,
        inbox: &Inbox,
        filter: &FilterFlags,
    ) -> Result<Self, ClientError> {
        let explanation = client.explain(&inbox.id, filter)?;
        let report = printable(&explanation.report);
        let wanted = wanted(filter, None);
        let address = &inbox.address;
        Ok(Self(format!("there is no {wanted} in {address}. {report}")))
    }
}

/// The message has more than one code, so none of them is the code.
#[derive(Debug, thiserror::Error)]
#[error("message {id} has several codes: {}; print the message with --json to choose one", .codes.join(", "))]
pub(super) struct SeveralCodes {
    id: String,
    codes: Vec<String>,
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
    let wait = Wait {
        client: &client,
        flags,
        inbox,
        name: Uuid::now_v7().to_string(),
    };
    Ok(output::line(&wait.run()?)?)
}

/// Creates the inbox with an address that has not been used yet. One that has ended is an error:
/// its mail is gone.
fn new_inbox(client: &ApiClient, name: String) -> Result<Inbox, ClientError> {
    match with_end(client, ClientError::NoInbox { name }) {
        ClientError::NoInbox { name } => match client.inbox_at(&name) {
            Err(ClientError::Unsupported { .. }) => Err(ClientError::NoInbox { name }),
            created => created,
        },
        ended => Err(ended),
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

struct Wait<'a> {
    client: &'a ApiClient,
    flags: &'a WaitFlags,
    inbox: Inbox,
    /// The same in all requests of the wait.
    name: String,
}

impl Wait<'_> {
    /// Waits again after each message that matches the filter but does not have the code or link,
    /// until the time is up.
    fn run(&self) -> Result<String, CliError> {
        let started = Instant::now();
        let mut filter = filter(self.flags);
        loop {
            let waited = started.elapsed();
            let left = self.flags.timeout.saturating_sub(waited);
            let error = match self.request(&filter, left.min(MAX_WAIT)) {
                Ok((_, Some(printed))) => return Ok(printed),
                Ok((id, None)) => {
                    filter.after = Some(id);
                    continue;
                }
                Err(CliError::Client(error)) => error,
                Err(error) => return Err(error),
            };
            match error {
                ClientError::Refused { status: 408, .. } if left > MAX_WAIT => {}
                ClientError::Refused {
                    status: 408, help, ..
                } => return Err(self.no_match(help)?.into()),
                // Without a timeout, the server answers that there is no match like this, too.
                ClientError::NoInbox { .. } if left.as_millis() == 0 => {
                    let found = self.client.inbox(&self.inbox.id);
                    found.map_err(|error| with_end(self.client, error))?;
                    return Err(self.no_match(None)?.into());
                }
                error if error.is_temporary() && !left.is_zero() => {
                    std::thread::sleep(pause_before_retry(waited).min(left));
                }
                error => return Err(with_end(self.client, error).into()),
            }
        }
    }

    /// The id of the oldest message that matches, and what to print of it; `None` if it does not
    /// have the code or link.
    fn request(
        &self,
        filter: &FilterFlags,
        timeout: Duration,
    ) -> Result<(String, Option<String>), CliError> {
        let path = ["inboxes", &self.inbox.id, "messages", "wait"];
        let request = self.named(self.client.get(&path)).filtered(filter);
        let milliseconds = timeout.as_millis().to_string();
        let message: Message = request
            .query("timeout", &milliseconds)
            .longer(timeout)
            .read()?;
        let printed = self.printed(&message)?;
        Ok((message.id, printed))
    }

    /// Says to which wait the request belongs, and what only this program compares.
    fn named<'call>(&self, request: Call<'call>) -> Call<'call> {
        let request = request.header("x-restante-wait", self.name.clone());
        match &self.flags.link {
            Some(link) => {
                let compared = cut(format!("link {link}"), FILTER_CHARACTERS);
                request.header("x-restante-filters", path_segment(&compared))
            }
            None => request,
        }
    }

    fn printed(&self, message: &Message) -> Result<Option<String>, CliError> {
        let flags = self.flags;
        if flags.code {
            let path = ["messages", &message.id, "details"];
            let details: MessageDetails = self.client.get(&path).read()?;
            let codes = details.codes.into_iter().map(|code| code.code);
            return Ok(code(&message.id, codes.collect())?);
        }
        if flags.otp {
            return Ok(Some(message.otp.clone()).filter(|otp| !otp.is_empty()));
        }
        if let Some(pattern) = &flags.link {
            let mut links = message.links.iter();
            return Ok(links.find(|link| pattern.is_match(link)).cloned());
        }
        if flags.json {
            return Ok(serde_json::to_string(message).ok());
        }
        Ok(Some(describe(message)))
    }

    /// No message arrived in time. `help` is the page that explains it.
    fn no_match(&self, help: Option<String>) -> Result<NoMatch, ClientError> {
        let path = ["inboxes", &self.inbox.id, "explain"];
        let request = self.named(self.client.get(&path));
        let explanation: Explanation = request.filtered(&filter(self.flags)).read()?;
        let wanted = wanted(&self.flags.filter, Some(self.flags));
        let address = &self.inbox.address;
        let timeout = self.flags.timeout;
        let report = printable(&explanation.report);
        let mut text = format!("no {wanted} arrived at {address} within {timeout}. {report}");
        if let Some(url) = help {
            text = format!("{text}\nDetails: {}", printable_line(&url));
        }
        Ok(NoMatch(text))
    }
}

/// The filter; includes the feature that `--code`, `--otp` or `--link` needs.
fn filter(flags: &WaitFlags) -> FilterFlags {
    let needed = [
        (flags.code, "code"),
        (flags.otp, "otp"),
        (flags.link.is_some(), "link"),
    ];
    let given = flags.filter.has.as_deref().filter(|has| !has.is_empty());
    let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
    let has: Vec<_> = given
        .into_iter()
        .chain(needed.map(|(_, feature)| feature))
        .collect();
    FilterFlags {
        has: Some(has.join(",")).filter(|has| !has.is_empty()),
        ..flags.filter.clone()
    }
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

/// The message that was expected, in words.
fn wanted(filter: &FilterFlags, flags: Option<&WaitFlags>) -> String {
    let mut features = Vec::new();
    if flags.is_some_and(|flags| flags.code) {
        features.push("a code".to_owned());
    }
    if flags.is_some_and(|flags| flags.otp) {
        features.push("a one-time code".to_owned());
    }
    if let Some(pattern) = flags.and_then(|flags| flags.link.as_ref()) {
        features.push(format!("a link that matches {pattern}"));
    }
    for (text, place) in [
        (&filter.subject, "subject"),
        (&filter.from, "sender"),
        (&filter.to, "recipients"),
        (&filter.text, "text"),
    ] {
        features.extend(text.iter().map(|text| format!("{text:?} in its {place}")));
    }
    if let Some(header) = &filter.header {
        features.push(format!("the header {header:?}"));
    }
    let mut wanted = "message".to_owned();
    if !features.is_empty() {
        wanted = format!("{wanted} with {}", features.join(" and "));
    }
    if let Some(after) = &filter.after {
        wanted = format!("{wanted} later than {after}");
    }
    wanted
}

/// A duration with a unit, for example `500ms`, or a whole number of seconds.
fn seconds(text: &str) -> Result<humantime::Duration, &'static str> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds).into()),
        Err(_) => text
            .parse()
            .map_err(|_| "write a time such as 30s, 500ms or 2m"),
    }
}
