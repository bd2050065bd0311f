//! Why the mail worker cannot start.

use std::path::PathBuf;

use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem;

use super::dkim::DkimError;

/// Why the mail worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// The system does not say who answers questions to the DNS.
    #[error("cannot use the system's DNS configuration ({0}): name a server with --dns-server")]
    Resolver(String),
    /// The certificates for the relay cannot be read.
    #[error("cannot read the certificates {path}: {source}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// There is no key to sign with.
    #[error(transparent)]
    Dkim(#[from] DkimError),
}
