//! `restante fault`: injects SMTP faults for an inbox, and lists them with their uses.

use std::fmt;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::client::{ApiClient, ClientFlags};
use super::error::CliError;
use super::flags::boolean;
use super::output;

const EXAMPLES: &str = "\
Examples:
  restante fault INBOX defer --times 2     the next two attempts get 451, then mail is accepted
  restante fault INBOX delay --seconds 30  the next RCPT reply is delayed by 30 seconds
  restante fault INBOX bounce              the next message is accepted, and its sender gets a bounce
  restante fault INBOX                     list the faults and when they were used";

/// Which inbox, and which fault.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct FaultFlags {
    /// The id or the address of the inbox
    inbox: String,
    /// The fault to set; replaces all faults of the inbox. If omitted, the faults are listed
    #[arg(value_name = "FAULT")]
    action: Option<Action>,
    /// SMTP stage: rcpt (RCPT TO) or data (end of DATA) [default: rcpt; data for bounce, duplicate and --store]
    #[arg(long, env = "RESTANTE_AT", value_name = "WHEN", requires = "action")]
    at: Option<Point>,
    /// How often it applies
    #[arg(long, env = "RESTANTE_TIMES", value_name = "COUNT", default_value_t = 1)]
    times: u32,
    /// The reply of `defer` and `reject`, for example `451 4.7.1 Come back later`
    #[arg(long, env = "RESTANTE_REPLY", value_name = "TEXT", requires = "action")]
    reply: Option<String>,
    /// Seconds that `delay` waits before the reply
    #[arg(long, env = "RESTANTE_SECONDS", value_name = "SECONDS", required_if_eq("action", "delay"))]
    seconds: Option<u16>,
    /// Store the message before `disconnect` closes the connection
    #[arg(long, env = "RESTANTE_STORE", value_parser = boolean, requires = "action")]
    store: bool,
    /// Remove the faults of the inbox
    #[arg(long, env = "RESTANTE_CLEAR", value_parser = boolean, conflicts_with = "action")]
    clear: bool,
    /// Print the faults as JSON
    #[arg(long, env = "RESTANTE_JSON", value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Reject temporarily (4xx)
    Defer,
    /// Reject permanently (5xx)
    Reject,
    /// Close the connection without a reply
    Disconnect,
    /// Delay the reply
    Delay,
    /// Accept the message, and send a bounce to its sender
    Bounce,
    /// Store the message twice
    Duplicate,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Point {
    Rcpt,
    Data,
}

/// The faults of an inbox, as sent to the service.
#[derive(Debug, Serialize)]
struct NewFaults<'a> {
    faults: Vec<NewFault<'a>>,
}

#[derive(Debug, Serialize)]
struct NewFault<'a> {
    at: Point,
    #[serde(rename = "do")]
    action: Action,
    times: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
}

/// The faults of an inbox, as the service returns them.
#[derive(Debug, Deserialize, Serialize)]
struct Faults {
    faults: Vec<Fault>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Fault {
    at: String,
    #[serde(rename = "do")]
    action: String,
    times: u32,
    left: u32,
    used: u32,
    uses: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(flags: &FaultFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let id = client.inbox(&flags.inbox)?.id;
    let wanted = match flags.action {
        Some(action) => Some(vec![flags.fault(action)]),
        None => flags.clear.then(Vec::new),
    };
    let faults: Faults = match wanted {
        Some(faults) => {
            let body = serde_json::to_string(&NewFaults { faults }).map_err(CliError::failed)?;
            client.set_faults(&id, &body)?
        }
        None => client.faults(&id)?,
    };
    if flags.json {
        return Ok(output::json(&faults)?);
    }
    Ok(faults.faults.iter().try_for_each(|fault| output::line(&fault.to_string()))?)
}

impl FaultFlags {
    fn fault(&self, action: Action) -> NewFault<'_> {
        let concerns_message = self.store || matches!(action, Action::Bounce | Action::Duplicate);
        let at = self.at.unwrap_or(if concerns_message { Point::Data } else { Point::Rcpt });
        let store = self.store.then_some(true);
        NewFault { at, action, times: self.times, reply: self.reply.as_deref(), seconds: self.seconds, store }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, action, times, left, used, uses, reply, seconds, store } = self;
        write!(formatter, "{action} at {at}")?;
        if let Some(seconds) = seconds {
            write!(formatter, " for {seconds} s")?;
        }
        if let Some(reply) = reply {
            write!(formatter, " with {}", output::printable_line(reply))?;
        }
        if *store == Some(true) {
            formatter.write_str(" after storing")?;
        }
        write!(formatter, ": used {used} of {times}, {left} left")?;
        uses.iter().try_for_each(|used_at| write!(formatter, "\n  {used_at}"))
    }
}
