//! The DNS resolver, for the mail worker and for the checks of a message.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// A resolver with a cache of its own, which asks `server`, or the servers of the system. `time` is
/// how long one query may take, if not as long as usual.
///
/// # Errors
/// If the configuration of the system cannot be read.
pub(crate) fn resolver(
    server: Option<SocketAddr>,
    time: Option<Duration>,
) -> Result<TokioResolver, NetError> {
    let mut builder = match server {
        Some(server) => {
            let provider = TokioRuntimeProvider::default();
            TokioResolver::builder_with_config(
                ResolverConfig::from_name_servers(vec![at(server)]),
                provider,
            )
        }
        None => TokioResolver::builder_tokio()?,
    };
    // The hosts file is local configuration and does not contain the mail servers of a domain.
    let options = builder.options_mut();
    options.use_hosts_file = ResolveHosts::Never;
    options.timeout = time.unwrap_or(options.timeout);
    builder.build()
}

fn at(server: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    NameServerConfig::new(server.ip(), true, connections.into())
}
