//! `restante mcp`: an MCP server over standard input and output, for a coding agent. It is a client
//! of a Restante server. `--serve` starts that server, which ends with this command.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tokio::io::{BufReader, stdin, stdout};
use tokio::runtime::Runtime;

use super::child::first_line;
use super::client::ClientFlags;
use super::error::CliError;
use super::relay::Relay;
use super::stop::StopRequests;
use super::transport::Transport;
use crate::config::boolean;
use crate::mcp;
use crate::model::ApiKey;

/// How long the server of `--serve` may take to start.
const START_WITHIN: Duration = Duration::from_secs(60);
/// Longer than a server takes to stop: its requests have ten seconds.
const STOP_WITHIN: Duration = Duration::from_secs(30);

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
    #[error("cannot start a server")]
    Start(#[source] io::Error),
    #[error("the server did not start; see its log above")]
    NotStarted,
    #[error(
        "the server did not start within {} s, so it was stopped; see its log above. A migration of a large database \
         takes longer: run `restante migrate` before",
        START_WITHIN.as_secs()
    )]
    Hangs,
    #[error("cannot speak to the client")]
    Speak(#[source] io::Error),
}

/// Runs the command until standard input ends, or a signal.
///
/// # Errors
/// [`CliError`] if the server does not start, or standard input or output fails.
pub(super) fn run(flags: &McpFlags) -> Result<(), CliError> {
    let own = if flags.serve {
        Some(OwnServer::start(flags)?)
    } else {
        None
    };
    let (url, key) = match &own {
        Some(own) => (own.url.clone(), own.key.clone()),
        None => flags.client.access()?,
    };
    let relay = Relay(Transport::new(&url, Some(&key)));
    let runtime = Runtime::new().map_err(CliError::Runtime)?;
    let result = runtime.block_on(speak(relay));
    // A read of standard input cannot be cancelled, so this does not wait for it.
    runtime.shutdown_background();
    result
}

async fn speak(relay: Relay) -> Result<(), CliError> {
    let mut stop = StopRequests::listen(None, false).map_err(CliError::Runtime)?;
    tokio::select! {
        ended = mcp::speak(relay, BufReader::new(stdin()), stdout()) => Ok(ended.map_err(McpError::Speak)?),
        () = stop.next() => Ok(()),
    }
}

/// A server that this command has started. It stops when its standard input is closed, even because
/// this process was killed.
struct OwnServer {
    child: Child,
    /// The first line of its output. The sender is dropped when the server has ended.
    first_line: Receiver<String>,
    url: String,
    key: ApiKey,
}

/// The fields of the line that are needed here.
#[derive(Deserialize)]
struct GreetingLine {
    url: String,
}

impl OwnServer {
    fn start(flags: &McpFlags) -> Result<Self, CliError> {
        let key = flags.client.key().cloned().unwrap_or_else(ApiKey::generate);
        let mut serve = Command::new(std::env::current_exe().map_err(McpError::Start)?);
        serve
            .args(["serve", "--for-tests"])
            .args(&flags.serve_flags)
            .env("RESTANTE_API_KEY", key.as_str());
        Ok(Self::launch(serve, key, START_WITHIN)?)
    }

    /// Waits until the server listens.
    fn launch(mut serve: Command, key: ApiKey, limit: Duration) -> Result<Self, McpError> {
        let mut child = serve
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(McpError::Start)?;
        let first_line = first_line(&mut child);
        // From here on it is stopped if anything fails.
        let mut own = Self {
            child,
            first_line,
            url: String::new(),
            key,
        };
        let line = match own.first_line.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(McpError::NotStarted),
            Err(RecvTimeoutError::Timeout) => {
                // It would notice the end of its standard input only after the start.
                own.stop(Duration::ZERO);
                return Err(McpError::Hangs);
            }
        };
        own.url = serde_json::from_str(&line)
            .map(|GreetingLine { url }| url)
            .map_err(|_| McpError::NotStarted)?;
        Ok(own)
    }

    /// Waits until it has ended, and kills it if that takes longer than `limit`. An error means
    /// that it has ended.
    fn stop(&mut self, limit: Duration) {
        drop(self.child.stdin.take());
        if self.first_line.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop(STOP_WITHIN);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn launched(script: &str, limit: Duration) -> Result<OwnServer, McpError> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        OwnServer::launch(shell, ApiKey::generate(), limit)
    }

    #[test]
    fn a_server_that_hangs_at_its_start_is_killed() {
        let started = launched("exec sleep 600", Duration::ZERO);
        assert!(matches!(started, Err(McpError::Hangs)));
    }

    #[test]
    fn a_server_that_ends_at_its_start_is_no_server_that_hangs() {
        assert!(matches!(
            launched("exit 1", START_WITHIN),
            Err(McpError::NotStarted)
        ));
    }

    #[test]
    fn a_server_that_does_not_stop_is_killed() {
        let mut own = launched(
            r#"echo '{"url": "http://localhost"}'; exec sleep 600"#,
            START_WITHIN,
        )
        .unwrap();
        own.stop(Duration::ZERO);
        assert_eq!(own.url, "http://localhost");
        assert!(!own.child.wait().unwrap().success());
    }
}
