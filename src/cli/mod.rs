//! The command line: `restante serve` runs the service; `project`, `outgoing`, `migrate`, `copy`
//! and `backup` work on its database; `inbox`, `messages`, `message`, `watch`, `wait`, `check`,
//! `send`, `forward`, `explain`, `fault`, `open`, `health` and `sendmail` are clients for shell
//! scripts and people, and `mcp` for coding agents.

mod backup;
mod check;
mod child;
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
mod relay;
mod send;
mod sendmail;
mod serve;
mod stop;
#[cfg(test)]
mod tests;
mod totp;
mod transport;
mod wait;
mod watch;

use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::causes::with_causes;
use error::CliError;

/// Temporary inboxes for automated end-to-end tests
#[derive(Parser)]
#[command(name = "restante", version, max_term_width = 100, help_template = TEMPLATE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const TEMPLATE: &str = "\
{about}

{usage-heading} {usage}{after-help}

Options:
{options}

Every flag that is a setting has an environment variable; `restante COMMAND --help` shows it.
Exit codes: 0 success; 1 no message matched, `check` found errors, or a command on the server's
machine failed; 2 wrong usage, or a request to the server failed; `sendmail` has sendmail's own.
";

/// The commands by whom they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    ("The server", &["serve", "open", "health"]),
    (
        "Its data, on its machine",
        &["project", "outgoing", "migrate", "copy", "backup"],
    ),
    (
        "Mail, with RESTANTE_URL and RESTANTE_API_KEY",
        &[
            "inbox", "wait", "messages", "message", "watch", "explain", "check", "send", "forward",
            "fault",
        ],
    ),
    ("Tools", &["sendmail", "totp", "mcp", "completions", "man"]),
];

/// The command, whose help lists its subcommands in groups.
fn grouped(command: clap::Command) -> clap::Command {
    let mut help = String::new();
    for (title, members) in GROUPS {
        help = help + title + ":\n";
        for name in members {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            help = help + &format!("  {name:<12} {about}\n");
        }
        help.push('\n');
    }
    let help = help.trim_end().to_owned() + "\n";
    command.after_help(help)
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    #[command(after_help = "Example: restante serve")]
    Serve(Box<serve::ServeFlags>),
    /// Manage projects and their API keys in the database
    #[command(after_help = "Example: restante project create shop")]
    Project(project::ProjectCommand),
    /// Update the schema of a database
    #[command(after_help = "Example: restante migrate --data-dir /srv/restante")]
    Migrate(migrate::MigrateCommand),
    /// Copy a whole database to another one, for example from SQLite to PostgreSQL
    ///
    /// Dashboard sessions and recorded waits are left out.
    #[command(
        after_help = "Example: restante copy --from sqlite:restante.db --to postgres://restante@db/restante"
    )]
    Copy(copy::CopyCommand),
    /// Back up a SQLite database to a file, even while a server runs
    #[command(after_help = "Example: restante backup /backup/restante.db")]
    Backup(backup::BackupCommand),
    /// Manage the queue of outgoing mail in the database
    #[command(after_help = "Example: restante outgoing list --status failed")]
    Outgoing(outgoing::OutgoingCommand),
    /// Create, show, list and delete inboxes
    #[command(after_help = "Example: restante inbox create")]
    Inbox(inbox::InboxCommand),
    /// List the messages of an inbox, newest first
    #[command(after_help = "Example: restante messages ada@restante.example.com --subject welcome")]
    Messages(messages::MessagesFlags),
    /// Print a message, its source, its HTML or an attachment
    #[command(after_help = "Example: restante message ada@restante.example.com --html")]
    Message(message::MessageFlags),
    /// Print the messages of the project as they arrive
    #[command(after_help = "Example: restante watch")]
    Watch(watch::WatchFlags),
    /// Wait for a message and print it, its code, or one of its links
    #[command(after_help = "Example: restante wait ada@restante.example.com --code --timeout 10s")]
    Wait(wait::WaitFlags),
    /// Check the links, the parts and the HTML of a message for problems
    #[command(after_help = "Example: restante check ada@restante.example.com --dns")]
    Check(check::CheckFlags),
    /// Print the current code of a second factor (RFC 6238)
    Totp(totp::TotpFlags),
    /// Send a message from an inbox
    #[command(
        after_help = "Example: restante send ada@restante.example.com --to shop@example.com --subject Hello --text Hi"
    )]
    Send(send::SendFlags),
    /// Forward a message to another address
    #[command(
        after_help = "Example: restante forward ada@restante.example.com colleague@example.com"
    )]
    Forward(forward::ForwardFlags),
    /// Explain why a message did not arrive
    #[command(after_help = "Example: restante explain ada@restante.example.com")]
    Explain(explain::ExplainFlags),
    /// Inject SMTP faults for an inbox, or list them
    Fault(fault::FaultFlags),
    /// Send a message from standard input, like sendmail
    Sendmail(sendmail::SendmailFlags),
    /// Run an MCP server over stdio, for a coding agent
    #[command(after_help = "Example: restante mcp --serve")]
    Mcp(mcp::McpFlags),
    /// Open the dashboard in the browser, or print its address
    #[command(after_help = "Example: restante open")]
    Open(open::OpenFlags),
    /// Check that the server is healthy
    #[command(after_help = "Example: restante health --url http://127.0.0.1:8025")]
    Health(health::HealthFlags),
    /// Print a completion script for a shell
    #[command(after_help = "Example: restante completions bash")]
    Completions(manual::CompletionsFlags),
    /// Write manual pages to a directory
    #[command(after_help = "Example: restante man /usr/local/share/man/man1")]
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
    let command = without_empty_variables(grouped(Cli::command()));
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
