//! What can go wrong on the command line, and the exit code of each.

use std::error::Error;
use std::io;

use super::client::ClientError;
use super::database::DatabaseCommandError;
use super::outgoing::OutgoingCommandError;
use super::project::ProjectCommandError;
use super::serve::ServeError;
use super::settings::SettingsError;
use super::wait::NoMatch;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Project(#[from] ProjectCommandError),
    #[error(transparent)]
    Outgoing(#[from] OutgoingCommandError),
    #[error(transparent)]
    Database(#[from] DatabaseCommandError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl CliError {
    /// 1 where a wait ended without a match or the service failed; 2 where the request was wrong or failed.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Serve(_)
            | Self::Project(_)
            | Self::Outgoing(_)
            | Self::Database(_)
            | Self::NoMatch(_)
            | Self::Output(_) => 1,
            Self::Settings(_) | Self::Client(_) => 2,
        }
    }

    /// Whether the reader of the output has gone, as `head` does: no failure.
    pub(super) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The error and what caused it, each once.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        // Some errors already name their cause.
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        cause = error.source();
    }
    text
}
