//! `restante health`: checks whether the service answers, for container health checks.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::error::CliError;
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
#[error("{url} is not healthy")]
struct Unhealthy {
    url: String,
    source: Box<ureq::Error>,
}

/// Runs the command. It prints nothing if the service is healthy.
///
/// # Errors
/// [`CliError`] if the service does not return 200 in time.
pub(super) fn run(flags: &HealthFlags) -> Result<(), CliError> {
    let local = || format!("http://{}", reachable(flags.http_listen));
    let url = flags.url.clone().unwrap_or_else(local);
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(WITHIN))
        .max_redirects(0)
        .build()
        .new_agent();
    match agent.get(format!("{url}/v1/health")).call() {
        Ok(answer) if answer.status() == 200 => Ok(()),
        Ok(answer) => Err(unhealthy(
            url,
            ureq::Error::StatusCode(answer.status().as_u16()),
        )),
        Err(source) => Err(unhealthy(url, source)),
    }
}

fn unhealthy(url: String, source: ureq::Error) -> CliError {
    CliError::failed(Unhealthy {
        url,
        source: Box::new(source),
    })
}
