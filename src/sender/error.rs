//! Why the mail worker cannot start.

use std::path::PathBuf;

use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem;

use super::dkim::DkimError;

/// Why the mail worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// The system's configuration contains no DNS server.
    #[error("cannot use the system's DNS configuration ({0}): set --dns-server")]
    Resolver(String),
    /// The certificates for the relay cannot be read.
    #[error("cannot read the certificates {path}: {source}")]
    Authorities { path: PathBuf, source: pem::Error },
    /// The file with the certificates for the relay has none.
    #[error(
        "{path} contains no certificate in PEM: set --relay-ca to a file with the authorities of the relay"
    )]
    NoAuthorities { path: PathBuf },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The signing key cannot be used.
    #[error(transparent)]
    Dkim(#[from] DkimError),
}
