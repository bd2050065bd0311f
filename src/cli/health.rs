//! `restante health`: checks whether the service answers, for container health checks.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use clap::Args;
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::error::CliError;
use super::transport::Transport;
use crate::config::http_url;
use crate::tcp::reachable;

/// A service that takes longer to answer is not healthy.
const WITHIN: Duration = Duration::from_secs(5);

/// The service to check.
#[derive(Args, Debug)]
pub(super) struct HealthFlags {
    /// The address of the server [default: the server on this machine, at --http-listen]
    #[arg(long, env = "RESTANTE_URL", value_name = "URL", value_parser = http_url)]
    url: Option<String>,
    /// The listening address of the server on this machine, which has the same flag
    #[arg(
        long,
        env = "RESTANTE_HTTP_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8025"
    )]
    http_listen: SocketAddr,
}

/// The service is not healthy.
#[derive(Debug, thiserror::Error)]
#[error("{url} is not healthy: {cause}")]
struct Unhealthy {
    url: String,
    cause: String,
}

/// Runs the command. It prints nothing if the service is healthy.
///
/// # Errors
/// [`CliError`] if the service does not return 200 in time.
pub(super) fn run(flags: &HealthFlags) -> Result<(), CliError> {
    let local = || format!("http://{}", reachable(flags.http_listen));
    let url = flags.url.clone().unwrap_or_else(local);
    let server = Transport::new(&url, None);
    let request = server.request(Method::GET, "/v1/health");
    let runtime = Builder::new_current_thread().enable_all().build();
    let answer = runtime
        .map_err(CliError::Runtime)?
        .block_on(async { timeout(WITHIN, server.send(request, "")).await });
    let cause = match answer {
        Ok(Ok(answer)) if answer.status() == StatusCode::OK => return Ok(()),
        Ok(Ok(answer)) => format!("http status: {}", answer.status().as_u16()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", WITHIN.as_secs()),
    };
    Err(CliError::other(Unhealthy { url, cause }))
}
