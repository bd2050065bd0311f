//! The error of every command, with its exit code. Each command converts its own errors to it.

use std::error::Error;
use std::fmt;
use std::io;

use crate::config::SettingsError;

type BoxedError = Box<dyn Error + Send + Sync>;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum CliError {
    /// The service or a command failed, or a wait found no message.
    Failed(BoxedError),
    /// The request was invalid or was rejected.
    Refused(BoxedError),
    /// An error of `restante sendmail`, with this exit code.
    Exit(u8, BoxedError),
    /// Standard output cannot be written to.
    Output(io::Error),
}

impl CliError {
    pub(super) fn failed(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(error.into())
    }

    pub(super) fn refused(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Refused(error.into())
    }

    /// 1 if a wait ended without a match or the service failed; 2 if the request was invalid or
    /// failed; for sendmail, its own codes.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Refused(_) => 2,
            Self::Exit(code, _) => *code,
        }
    }

    /// Whether the reader closed the output, for example `head`. This is not a failure.
    pub(super) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) | Self::Refused(error) | Self::Exit(_, error) => error.source(),
            Self::Output(error) => Some(error),
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) | Self::Refused(error) | Self::Exit(_, error) => {
                error.fmt(formatter)
            }
            Self::Output(_) => formatter.write_str("cannot write to standard output"),
        }
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::refused(error)
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
