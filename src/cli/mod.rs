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
#[cfg(test)]
mod reference;
mod relay;
mod send;
mod sendmail;
mod serve;
mod stop;
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

/// The commands by whom they are for, each with an example.
const GROUPS: [(&str, &[(&str, &str)]); 4] = [
    (
        "The server",
        &[
            ("serve", "restante serve"),
            ("open", "restante open"),
            ("health", "restante health --url http://127.0.0.1:8025"),
        ],
    ),
    (
        "Its data, on its machine",
        &[
            ("project", "restante project create shop"),
            ("outgoing", "restante outgoing list --status failed"),
            ("migrate", "restante migrate --data-dir /srv/restante"),
            (
                "copy",
                "restante copy --from sqlite:restante.db --to postgres://restante@db/restante",
            ),
            ("backup", "restante backup /backup/restante.db"),
        ],
    ),
    (
        "Mail, with RESTANTE_URL and RESTANTE_API_KEY",
        &[
            ("inbox", "restante inbox create"),
            (
                "wait",
                "restante wait ada@restante.example.com --code --timeout 10s",
            ),
            (
                "messages",
                "restante messages ada@restante.example.com --subject welcome",
            ),
            (
                "message",
                "restante message ada@restante.example.com --html",
            ),
            ("watch", "restante watch"),
            ("explain", "restante explain ada@restante.example.com"),
            ("check", "restante check ada@restante.example.com --dns"),
            (
                "send",
                "restante send ada@restante.example.com --to shop@example.com --subject Hello --text Hi",
            ),
            (
                "forward",
                "restante forward ada@restante.example.com colleague@example.com",
            ),
            (
                "fault",
                "restante fault ada@restante.example.com defer --times 2",
            ),
        ],
    ),
    (
        "Tools",
        &[
            (
                "sendmail",
                "restante sendmail ada@restante.example.com < message.eml",
            ),
            ("totp", "restante totp JBSWY3DPEHPK3PXP"),
            ("mcp", "restante mcp --serve"),
            ("completions", "restante completions bash"),
            ("man", "restante man /usr/local/share/man/man1"),
        ],
    ),
];

/// The command with its subcommands in groups.
fn grouped(mut command: clap::Command) -> clap::Command {
    let mut help = String::new();
    for (title, members) in GROUPS {
        if !help.is_empty() {
            help.push('\n');
        }
        help = help + title + ":\n";
        for (name, example) in members {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            help = help + &format!("  {name:<12} {about}\n");
            command = command.mut_subcommand(name, |subcommand| {
                if subcommand.get_after_help().is_some() {
                    return subcommand;
                }
                subcommand.after_help(format!("Example: {example}"))
            });
        }
    }
    command.after_help(help)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_a_group_with_an_example_that_it_takes() {
        let command = Cli::command();
        let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, group)| *group).collect();
        for (name, example) in &listed {
            let words = example.split(" <").next().unwrap().split(' ');
            let matches = Cli::command().try_get_matches_from(words);
            let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(matches.subcommand_name(), Some(*name));
        }
        listed.sort();
        let mut names: Vec<_> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        names.sort_unstable();
        assert!(
            command
                .get_subcommands()
                .all(|command| command.get_about().is_some())
        );
        assert!(listed.iter().map(|(name, _)| *name).eq(names));
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
