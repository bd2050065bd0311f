//! `restante mcp`: an MCP server over standard input and output, for a coding agent. It is a client of a Restante
//! server. `--serve` starts that server, which ends with this command.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use clap::Args;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::client::ClientFlags;
use super::error::CliError;
use super::stop::StopRequests;
use crate::config::boolean;
use crate::mcp::{Protocol, RelayError, ServerRelay};
use crate::model::ApiKey;

/// Which server to use.
#[derive(Args, Debug)]
pub(super) struct McpFlags {
    #[command(flatten)]
    client: ClientFlags,
    /// Start a temporary server on free ports; it stops with this command
    #[arg(long, env = "RESTANTE_SERVE", value_parser = boolean)]
    serve: bool,
    /// Flags of `restante serve` for that server, for example `-- --smtp-listen 127.0.0.1:1025`
    #[arg(last = true, value_name = "FLAG", requires = "serve")]
    serve_flags: Vec<OsString>,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum McpError {
    #[error("invalid --url")]
    Relay(#[from] RelayError),
    #[error("cannot start a server")]
    Start(#[source] io::Error),
    #[error("the server did not start; see its log above")]
    NotStarted,
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error("the connected client does not use the MCP protocol")]
    Initialize(#[source] Box<ServerInitializeError>),
}

impl From<McpError> for CliError {
    fn from(error: McpError) -> Self {
        match error {
            McpError::Relay(_) => Self::refused(error),
            error => Self::failed(error),
        }
    }
}

/// Runs the command until standard input ends, or a signal.
///
/// # Errors
/// [`McpError`], or that of the flags.
pub(super) fn run(flags: &McpFlags) -> Result<(), CliError> {
    let own = if flags.serve { Some(OwnServer::start(flags)?) } else { None };
    let (url, key) = match &own {
        Some(own) => (own.url.clone(), own.key.clone()),
        None => flags.client.access()?,
    };
    let relay = ServerRelay::new(&url, &key).map_err(McpError::Relay)?;
    let runtime = Runtime::new().map_err(McpError::Runtime)?;
    let result = runtime.block_on(speak(relay));
    // A read of standard input cannot be cancelled, so this does not wait for it.
    runtime.shutdown_background();
    Ok(result?)
}

async fn speak(relay: ServerRelay) -> Result<(), McpError> {
    let mut stop = StopRequests::listen(false).map_err(McpError::Runtime)?;
    let speaking = async {
        let stdio = (tokio::io::stdin(), tokio::io::stdout());
        match Protocol::new(relay).serve(stdio).await {
            Ok(running) => {
                // It ends with standard input. A task that failed has also ended.
                let _ = running.waiting().await;
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(McpError::Initialize(Box::new(error))),
        }
    };
    tokio::select! {
        ended = speaking => ended,
        () = stop.next() => Ok(()),
    }
}

/// A server that this command has started. It stops when its standard input is closed, even because this
/// process was killed.
struct OwnServer {
    child: Child,
    url: String,
    key: ApiKey,
    /// Removed after the server has stopped.
    _directory: TempDir,
}

/// The fields of the `--print-json` line that are needed here.
#[derive(Deserialize)]
struct GreetingLine {
    url: String,
}

impl OwnServer {
    fn start(flags: &McpFlags) -> Result<Self, CliError> {
        let key = flags.client.key().cloned().unwrap_or_else(ApiKey::generate);
        let directory = tempfile::Builder::new().prefix("restante-mcp-").tempdir().map_err(McpError::Start)?;
        let mut serve = Command::new(std::env::current_exe().map_err(McpError::Start)?);
        serve.args(["serve", "--print-json", "--exit-with-stdin"]);
        // A setting of the user, as a flag or a variable, takes precedence.
        for (flag, variable, value) in [
            ("--http-listen", "RESTANTE_HTTP_LISTEN", "127.0.0.1:0".as_ref()),
            ("--smtp-listen", "RESTANTE_SMTP_LISTEN", "127.0.0.1:0".as_ref()),
            ("--data-dir", "RESTANTE_DATA_DIR", directory.path().as_os_str()),
        ] {
            let is_given = |given: &OsString| given.to_string_lossy().split('=').next() == Some(flag);
            if !flags.serve_flags.iter().any(is_given) && std::env::var_os(variable).is_none() {
                serve.arg(flag).arg(value);
            }
        }
        serve.args(&flags.serve_flags).env("RESTANTE_API_KEY", key.as_str());
        let child = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(McpError::Start)?;
        // From here on it is stopped if anything fails.
        let mut own = Self { child, url: String::new(), key, _directory: directory };
        own.url = first_line(&mut own.child)?;
        Ok(own)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // An error means that the server has already ended.
        let _ = self.child.wait();
    }
}

/// Waits until the server listens, and returns its URL.
fn first_line(child: &mut Child) -> Result<String, McpError> {
    let mut line = String::new();
    if let Some(output) = child.stdout.as_mut() {
        BufReader::new(output).read_line(&mut line).map_err(McpError::Start)?;
    }
    serde_json::from_str(&line).map(|GreetingLine { url }| url).map_err(|_| McpError::NotStarted)
}
