//! `restante check`: prints the problems of a message over HTTP.

use clap::{Args, ValueEnum};
use restante_api::{Authentication, CheckName, MessageChecks, Problem, Severity};

use super::client::{ApiClient, ClientFlags, FilterFlags};
use super::error::CliError;
use super::message;
use super::output::{self, printable_line};
use crate::config::boolean;

/// Which message, and which problems.
#[derive(Args, Debug)]
pub(super) struct CheckFlags {
    /// The id or the address of the inbox, whose newest message is checked; or the id of a message
    #[arg(value_name = "INBOX|MESSAGE")]
    name: String,
    #[command(flatten)]
    filter: FilterFlags,
    /// Checks to leave out, for example image,accessibility
    #[arg(long, value_name = "CHECKS", value_delimiter = ',', value_parser = check_name)]
    ignore: Vec<CheckName>,
    /// The least severe problems that make the command fail
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    /// Also print whether SPF, DKIM and DMARC pass, with queries of the server to the DNS
    #[arg(long, value_parser = boolean)]
    dns: bool,
    /// Print the problems as JSON
    #[arg(long, value_parser = boolean)]
    json: bool,
    #[command(flatten)]
    client: ClientFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Errors
    Error,
    /// Errors and warnings
    Warning,
    /// Nothing
    Never,
}

/// The message has problems. They have been printed.
#[derive(Debug, thiserror::Error)]
#[error("the message has {0} {noun}", noun = if *.0 == 1 { "problem" } else { "problems" })]
pub(super) struct HasProblems(usize);

/// Runs the command.
///
/// # Errors
/// [`HasProblems`]; any other error if a request fails.
pub(super) fn run(flags: &CheckFlags) -> Result<(), CliError> {
    let client = ApiClient::new(&flags.client)?;
    let id = message::find(&client, &flags.name, &flags.filter)?;
    let path = ["messages", &id, "checks"];
    let dns = if flags.dns { "true" } else { "" };
    let mut checks: MessageChecks = client.get(&path).query("dns", dns).read()?;
    checks
        .problems
        .retain(|problem| !flags.ignore.contains(&problem.check));
    output::print(&checks, flags.json, describe)?;
    let fails = |problem: &&Problem| match flags.fail_on {
        FailOn::Error => problem.severity == Severity::Error,
        FailOn::Warning => true,
        FailOn::Never => false,
    };
    match checks.problems.iter().filter(fails).count() {
        0 => Ok(()),
        count => Err(HasProblems(count).into()),
    }
}

fn check_name(text: &str) -> Result<CheckName, String> {
    CheckName::of_word(text).ok_or_else(|| {
        let known: Vec<&str> = CheckName::ALL.iter().map(|check| check.as_str()).collect();
        format!("write {}, or several with commas between", known.join(", "))
    })
}

/// The problems, one a line, with the line of the source below it; then the results of SPF, DKIM
/// and DMARC.
fn describe(checks: &MessageChecks) -> String {
    let mut lines = Vec::new();
    for problem in &checks.problems {
        let detail = printable_line(&problem.detail);
        lines.push(format!("{}  {}  {detail}", problem.severity, problem.check));
        if let (Some(part), Some(line), Some(source)) =
            (problem.part, problem.line, &problem.source)
        {
            lines.push(format!("  {part}:{line}  {}", printable_line(source)));
        }
    }
    if lines.is_empty() {
        lines.push("no problems".to_owned());
    }
    let results = checks
        .authentication
        .iter()
        .flat_map(Authentication::results);
    lines.extend(
        results
            .map(|(name, result, detail)| format!("{name}  {result}  {}", printable_line(detail))),
    );
    lines.join("\n")
}
