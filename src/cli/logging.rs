//! The log of a server, on standard error: readable lines or JSON, filtered by `RESTANTE_LOG` or `RUST_LOG`.

use std::env;
use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use super::flags::LogFormat;
use super::settings::SettingsError;

const FILTER_VARIABLES: [&str; 2] = ["RESTANTE_LOG", "RUST_LOG"];
const DEFAULT_FILTER: &str = "info";

/// Starts logging for the whole process.
///
/// # Errors
/// [`SettingsError`] where a filter cannot be read.
pub(super) fn start(format: LogFormat) -> Result<(), SettingsError> {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter()?)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
    Ok(())
}

fn filter() -> Result<EnvFilter, SettingsError> {
    for variable in FILTER_VARIABLES {
        let Some(text) = env::var(variable).ok().filter(|text| !text.is_empty()) else { continue };
        return EnvFilter::try_new(&text).map_err(|error| {
            SettingsError::new(variable, error.to_string(), "Write a level like debug, or restante=debug,info")
        });
    }
    Ok(EnvFilter::new(DEFAULT_FILTER))
}
