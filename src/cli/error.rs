//! The error of every command, and the exit code of each.

use std::error::Error;
use std::io;

use super::backup::BackupCommandError;
use super::check::HasProblems;
use super::client::ClientError;
use super::data_dir::DataDirError;
use super::database::DatabaseCommandError;
use super::fault::FaultError;
use super::for_tests::ForTestsError;
use super::inbox::ProjectOverHttp;
use super::mcp::McpError;
use super::send::InputError;
use super::sendmail::SendmailError;
use super::serve::ServeError;
use super::wait::{NoMatch, SeveralCodes};
use crate::config::SettingsError;
use crate::service::{OutboxError, ProjectError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Backup(#[from] BackupCommandError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Database(#[from] DatabaseCommandError),
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error(transparent)]
    ForTests(#[from] ForTestsError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
    #[error(transparent)]
    Problems(#[from] HasProblems),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    ProjectOverHttp(#[from] ProjectOverHttp),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Sendmail(#[from] SendmailError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    SeveralCodes(#[from] SeveralCodes),
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl CliError {
    pub(super) fn other(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Other(error.into())
    }

    /// 1 if a wait ended without a match or the service failed; 2 if the request was invalid or
    /// failed; for sendmail, its own codes.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Client(_)
            | Self::Fault(_)
            | Self::Input(_)
            | Self::ProjectOverHttp(_)
            | Self::Settings(_) => 2,
            Self::Sendmail(error) => error.exit_code(),
            _ => 1,
        }
    }

    /// Whether the reader closed the output, for example `head`. This is not a failure.
    pub(super) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
