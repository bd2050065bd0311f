//! The certificate for STARTTLS and implicit TLS.

use std::path::PathBuf;

use clap::Args;

use super::values::certificate_name;
use super::{SettingsError, both_or_neither, defaults};

/// The certificate for STARTTLS and implicit TLS.
#[derive(Args, Clone, Debug)]
pub struct Tls {
    /// The certificate chain for TLS, PEM [default: a self-signed certificate, generated once and
    /// kept in the data directory]
    #[arg(long, env = "RESTANTE_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM; if the files change, the server reads them again
    /// without a restart
    #[arg(long, env = "RESTANTE_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Further names of the generated certificate, separated by commas.
    ///
    /// It is valid for the mail domain, `restante`, the names of this host and of `--base-url`,
    /// `localhost`, `127.0.0.1`, `::1`, and for these. If a name is missing in an earlier
    /// certificate, it is generated again. [default: none]
    #[arg(
        long, env = "RESTANTE_TLS_NAMES", value_name = "NAMES", value_delimiter = ',', value_parser = certificate_name
    )]
    pub tls_names: Vec<String>,
}

/// A certificate chain and its private key, both PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Tls {
    /// The files of the certificate; `None` if the server generates one.
    #[must_use]
    pub fn files(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
        })
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        both_or_neither(
            ("--tls-cert", self.tls_cert.as_ref()),
            ("--tls-key", self.tls_key.as_ref()),
        )
    }
}

impl Default for Tls {
    fn default() -> Self {
        defaults()
    }
}
