//! How the process of a server logs, prints and stops.

use clap::{Args, ValueEnum};

use super::values::boolean;

/// How the process of a server logs, prints and stops.
#[derive(Args, Clone, Debug)]
pub struct Process {
    /// The format of the log on standard error; the variable `RESTANTE_LOG` filters it, for example
    /// `debug`
    #[arg(
        long,
        env = "RESTANTE_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,
    /// Print one line of JSON instead of the greeting, for a program that starts the server
    #[arg(long, env = "RESTANTE_PRINT_JSON", value_parser = boolean)]
    pub print_json: bool,
    /// Stop when standard input is closed, so that the server ends with its parent process
    #[arg(long, env = "RESTANTE_EXIT_WITH_STDIN", value_parser = boolean)]
    pub exit_with_stdin: bool,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// one readable line per event
    Text,
    /// one JSON object per event
    Json,
}
