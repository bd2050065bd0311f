//! The log of a server, on standard error: readable lines or JSON, filtered by `RESTANTE_LOG` or `RUST_LOG`.

use std::env;
use std::io::{self, IsTerminal};

use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::flags::LogFormat;
use super::settings::SettingsError;

const FILTER_VARIABLES: [&str; 2] = ["RESTANTE_LOG", "RUST_LOG"];

/// Starts logging for the whole process.
///
/// # Errors
/// [`SettingsError`] where a filter cannot be read.
pub(super) fn start(format: LogFormat) -> Result<(), SettingsError> {
    let filter = filter()?;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.finish().with(filter).init(),
        LogFormat::Json => subscriber.json().finish().with(filter).init(),
    }
    Ok(())
}

fn filter() -> Result<Targets, SettingsError> {
    for variable in FILTER_VARIABLES {
        let Some(text) = env::var(variable).ok().filter(|text| !text.is_empty()) else { continue };
        return text.parse().map_err(|error: ParseError| {
            SettingsError::new(variable, error.to_string(), "Write a level like debug, or restante=debug,info")
        });
    }
    Ok(Targets::new().with_default(LevelFilter::INFO))
}
