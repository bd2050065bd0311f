//! `restante fault`: injects SMTP faults for an inbox, and lists them with their uses.

use axum::http::Method;
use clap::{Args, ValueEnum, value_parser};
use restante_api::{
    Fault, FaultList, FaultState, MAX_FAULT_SECONDS, MAX_FAULT_TIMES, SetFaultsBody,
};

use super::client::{ApiClient, ClientFlags};
use super::error::CliError;
use super::output;
use crate::config::boolean;
use crate::model::{self, FieldError};

const USAGE: &str = "\
restante fault INBOX FAULT [--times COUNT] [--at WHEN] [OPTIONS]
       restante fault INBOX delay --seconds SECONDS [OPTIONS]
       restante fault INBOX [--clear] [--json]";

const EXAMPLES: &str = "\
Examples:
  restante fault INBOX defer --times 2     the next two attempts get 451, then mail is accepted
  restante fault INBOX delay --seconds 30  the next RCPT reply is delayed by 30 seconds
  restante fault INBOX bounce              the next message is accepted, and its sender gets a bounce
  restante fault INBOX drop                the next message is accepted and lost
  restante fault INBOX                     list the faults and when they were used";

/// Which inbox, and which fault.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(super) struct FaultFlags {
    /// The id or the address of the inbox
    inbox: String,
    /// The fault to set; replaces all faults of the inbox. If omitted, the faults are listed
    #[arg(value_name = "FAULT")]
    action: Option<Action>,
    /// SMTP stage: rcpt (RCPT TO) or data (end of DATA) [default: rcpt; data for bounce, drop,
    /// duplicate and --store]
    #[arg(long, value_name = "WHEN", requires = "action")]
    at: Option<Point>,
    /// How often it applies
    #[arg(
        long, value_name = "COUNT", default_value_t = 1,
        value_parser = value_parser!(u32).range(1..=i64::from(MAX_FAULT_TIMES))
    )]
    times: u32,
    /// The reply of `defer` and `reject`, for example `451 4.7.1 Come back later`
    #[arg(long, value_name = "TEXT", requires = "action")]
    reply: Option<String>,
    /// Seconds that `delay` waits before the reply
    #[arg(
        long, value_name = "SECONDS", required_if_eq("action", "delay"),
        value_parser = value_parser!(u16).range(1..=i64::from(MAX_FAULT_SECONDS))
    )]
    seconds: Option<u16>,
    /// Store the message before `disconnect` or `reset` ends the connection
    #[arg(long, value_parser = boolean, requires = "action")]
    store: bool,
    /// Remove the faults of the inbox
    #[arg(long, value_parser = boolean, conflicts_with = "action")]
    clear: bool,
    /// Print the faults as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Reject temporarily (4xx)
    Defer,
    /// Reject permanently (5xx)
    Reject,
    /// Close the connection without a reply
    Disconnect,
    /// Reset the connection without a reply
    Reset,
    /// Delay the reply
    Delay,
    /// Accept the message, and send a bounce to its sender
    Bounce,
    /// Accept the message and lose it
    Drop,
    /// Store the message twice
    Duplicate,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Point {
    Rcpt,
    Data,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if a request fails.
pub(super) fn run(flags: &FaultFlags) -> Result<(), CliError> {
    let wanted = match flags.action {
        Some(action) => Some(vec![flags.checked_fault(action)?]),
        None => flags.clear.then(Vec::new),
    };
    let client = ApiClient::new(&flags.client)?;
    let id = client.inbox(&flags.inbox)?.id;
    let path = ["inboxes", &id, "faults"];
    let request = match wanted {
        Some(faults) => client
            .call(Method::PUT, &path)
            .json(&SetFaultsBody { faults }),
        None => client.get(&path),
    };
    let faults: FaultList = request.read()?;
    if flags.json {
        return Ok(output::json(&faults)?);
    }
    Ok(faults
        .faults
        .iter()
        .try_for_each(|fault| output::line(&describe(fault)))?)
}

/// A flag does not fit the fault.
#[derive(Debug, thiserror::Error)]
pub(super) enum FaultError {
    #[error("--at: bounce, drop, duplicate and --store need --at data")]
    At,
    #[error(
        "--reply: write one line such as `451 4.7.1 Come back later`; 4xx with defer, 5xx with reject"
    )]
    Reply,
    #[error("--{0} does not fit this fault: see `restante fault --help`")]
    Other(&'static str),
}

impl FaultFlags {
    /// Checks the fault by the rules of the server, so that an error names the flag.
    fn checked_fault(&self, action: Action) -> Result<Fault, FaultError> {
        let fault = self.fault(action);
        match model::Fault::requested(&fault) {
            Ok(_) => Ok(fault),
            Err(FieldError::Missing(name) | FieldError::Invalid(name)) => Err(match name {
                "at" => FaultError::At,
                "reply" => FaultError::Reply,
                name => FaultError::Other(name),
            }),
        }
    }

    fn fault(&self, action: Action) -> Fault {
        let concerns_message =
            self.store || matches!(action, Action::Bounce | Action::Drop | Action::Duplicate);
        let at = self.at.unwrap_or(if concerns_message {
            Point::Data
        } else {
            Point::Rcpt
        });
        Fault {
            at: word(&at),
            action: word(&action),
            times: Some(self.times),
            reply: self.reply.clone(),
            seconds: self.seconds,
            store: self.store.then_some(true),
        }
    }
}

/// The word on the command line, which is also that of the API.
fn word(value: &impl ValueEnum) -> Option<String> {
    value
        .to_possible_value()
        .map(|word| word.get_name().to_owned())
}

fn describe(fault: &FaultState) -> String {
    let mut text = format!("{} at {}", fault.action, fault.at);
    if let Some(seconds) = fault.seconds {
        text += &format!(" for {seconds} s");
    }
    if let Some(reply) = &fault.reply {
        text += &format!(" with {}", output::printable_line(reply));
    }
    if fault.store == Some(true) {
        text += " after storing";
    }
    let FaultState {
        times, left, used, ..
    } = fault;
    text += &format!(": used {used} of {times}, {left} left");
    for used_at in &fault.uses {
        text += &format!("\n  {used_at}");
    }
    text
}
