//! The command line: `restante serve` runs the service; `project`, `outgoing`, `migrate`, `copy`
//! and `backup` work on its database; `inbox`, `messages`, `message`, `watch`, `wait`, `check`,
//! `send`, `forward`, `explain`, `fault`, `open`, `health` and `sendmail` are clients for shell
//! scripts and people, and `mcp` for coding agents.

mod backup;
mod check;
mod client;
mod copy;
mod data_dir;
mod database;
mod descriptors;
mod error;
mod explain;
mod fault;
mod for_tests;
mod forward;
mod greeting;
mod health;
mod inbox;
mod logging;
mod manual;
mod mcp;
mod message;
mod messages;
mod migrate;
mod open;
mod outgoing;
mod output;
mod project;
#[cfg(test)]
mod reference;
mod send;
mod sendmail;
mod serve;
mod stop;
mod totp;
mod wait;
mod watch;

use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::causes::with_causes;
use error::CliError;

/// Temporary inboxes for automated end-to-end tests
#[derive(Parser)]
#[command(name = "restante", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Every flag that is a setting has an environment variable; see `restante COMMAND --help`.
Exit codes: 0 success; 1 no message matched, `check` found errors, or a command on the server's machine failed;
2 wrong usage, or a request to the server failed.
`restante sendmail` uses sendmail's exit codes.";

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(Box<serve::ServeFlags>),
    /// Manage projects and their API keys in the database
    Project(project::ProjectCommand),
    /// Update the schema of a database
    Migrate(migrate::MigrateCommand),
    /// Copy a whole database to another one, for example from SQLite to PostgreSQL
    ///
    /// Dashboard sessions and recorded waits are left out.
    Copy(copy::CopyCommand),
    /// Back up a SQLite database to a file, even while a server runs
    Backup(backup::BackupCommand),
    /// Manage the queue of outgoing mail in the database
    Outgoing(outgoing::OutgoingCommand),
    /// Create, show, list and delete inboxes
    Inbox(inbox::InboxCommand),
    /// List the messages of an inbox, newest first
    Messages(messages::MessagesFlags),
    /// Print a message, its source, its HTML or an attachment
    Message(message::MessageFlags),
    /// Print the messages of the project as they arrive
    Watch(watch::WatchFlags),
    /// Wait for a message and print it, its code, or one of its links
    Wait(wait::WaitFlags),
    /// Check the links, the parts and the HTML of a message for problems
    Check(check::CheckFlags),
    /// Print the current code of a second factor (RFC 6238)
    Totp(totp::TotpFlags),
    /// Send a message from an inbox
    Send(send::SendFlags),
    /// Forward a message to another address
    Forward(forward::ForwardFlags),
    /// Explain why a message did not arrive
    Explain(explain::ExplainFlags),
    /// Inject SMTP faults for an inbox, or list them
    Fault(fault::FaultFlags),
    /// Send a message from standard input, like sendmail
    Sendmail(sendmail::SendmailFlags),
    /// Run an MCP server over stdio, for a coding agent
    Mcp(mcp::McpFlags),
    /// Open the dashboard in the browser, or print its address
    Open(open::OpenFlags),
    /// Check that the server is healthy
    Health(health::HealthFlags),
    /// Print a completion script for a shell
    Completions(manual::CompletionsFlags),
    /// Write manual pages to a directory
    Man(manual::ManFlags),
}

/// Runs the program with the arguments and the environment of the process.
///
/// The exit code is 0 for success; 1 if a wait found no message or the service failed; 2 for wrong
/// usage and failed requests; for `sendmail` those of sysexits.h.
#[must_use]
pub fn run() -> ExitCode {
    let matches = command().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return show_usage(&error),
    };
    let result = match cli.command {
        Command::Serve(flags) => serve::run(&flags),
        Command::Project(command) => project::run(&command),
        Command::Migrate(command) => migrate::run(&command),
        Command::Copy(command) => copy::run(&command),
        Command::Backup(command) => backup::run(&command),
        Command::Outgoing(command) => outgoing::run(&command),
        Command::Inbox(command) => inbox::run(&command),
        Command::Messages(flags) => messages::run(&flags),
        Command::Message(flags) => message::run(&flags),
        Command::Watch(flags) => watch::run(&flags),
        Command::Wait(flags) => wait::run(&flags),
        Command::Check(flags) => check::run(&flags),
        Command::Totp(flags) => totp::run(&flags),
        Command::Send(flags) => send::run(&flags),
        Command::Forward(flags) => forward::run(&flags),
        Command::Explain(flags) => explain::run(&flags),
        Command::Fault(flags) => fault::run(&flags),
        Command::Sendmail(flags) => sendmail::run(&flags),
        Command::Mcp(flags) => mcp::run(&flags),
        Command::Open(flags) => open::run(&flags),
        Command::Health(flags) => health::run(&flags),
        Command::Completions(flags) => manual::completions(&flags, Cli::command()),
        Command::Man(flags) => manual::man(&flags, Cli::command()),
    };
    result.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

/// The parser for the arguments of the process.
fn command() -> clap::Command {
    let command = without_empty_variables(Cli::command());
    if std::env::args_os().any(|argument| argument == "--for-tests") {
        command.mut_subcommand("serve", for_tests::preset)
    } else {
        command
    }
}

/// An empty variable counts as an absent one, because compose files and workflows pass an absent
/// variable like that.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |flag: &Arg| {
        flag.get_env()
            .and_then(std::env::var_os)
            .is_some_and(|value| value.is_empty())
    };
    let command = command.mut_args(|flag| {
        if is_empty(&flag) {
            flag.env(Resettable::Reset)
        } else {
            flag
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// Prints the help, the version or what is wrong with the usage.
fn show_usage(error: &clap::Error) -> ExitCode {
    // An error means that the output is closed, so it has no reader.
    let _ = error.print();
    let is_sendmail = std::env::args_os()
        .nth(1)
        .is_some_and(|command| command == "sendmail");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_sendmail => ExitCode::from(sendmail::USAGE),
        _ => ExitCode::from(2),
    }
}

fn fail(error: &CliError) -> ExitCode {
    if error.is_closed_output() {
        return ExitCode::SUCCESS;
    }
    output::note(&format!("restante: {}", with_causes(error)));
    ExitCode::from(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_sound() {
        Cli::command().debug_assert();
    }

    /// Flags of other commands that are settings: where the server is, the key, the data, how long
    /// to wait.
    const SETTINGS: [&str; 9] = [
        "api-key",
        "data-dir",
        "database",
        "http-listen",
        "project",
        "serve",
        "smtp",
        "timeout",
        "url",
    ];

    /// Flags of `serve` that are no settings, because each call gives its own.
    const FOR_ONE_RUN: [&str; 5] = ["background", "directory", "for-tests", "owner", "shared"];

    #[test]
    fn every_setting_has_its_variable_and_nothing_else_has_one() {
        let command = Cli::command();
        for subcommand in command.get_subcommands() {
            for flag in all_flags(subcommand) {
                let Some(long) = flag.get_long() else {
                    continue;
                };
                let variable = format!("RESTANTE_{}", long.replace('-', "_").to_uppercase());
                let is_setting = (subcommand.get_name() == "serve" && !FOR_ONE_RUN.contains(&long))
                    || SETTINGS.contains(&long);
                let expected = is_setting.then_some(variable.as_str());
                let found = flag.get_env().and_then(|name| name.to_str());
                assert_eq!(found, expected, "{} --{long}", subcommand.get_name());
            }
        }
    }

    #[test]
    fn secrets_are_not_shown_in_the_help() {
        for flag in Cli::command().get_subcommands().flat_map(all_flags) {
            if matches!(
                flag.get_long(),
                Some("api-key" | "admin-token" | "database" | "relay")
            ) {
                assert!(flag.is_hide_env_values_set(), "{flag}");
            }
        }
    }

    fn all_flags(command: &clap::Command) -> Vec<Arg> {
        let below = command.get_subcommands().flat_map(all_flags);
        command.get_arguments().cloned().chain(below).collect()
    }
}
