//! Encryption of the connection to PostgreSQL, according to `sslmode` and `sslrootcert`.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls;

use crate::db::DatabaseError;
use crate::db::SslMode;
use crate::tls::client_config;

/// The default of `sslrootcert`, as in psql, relative to the home directory.
const DEFAULT_ROOT: &str = ".postgresql/root.crt";

/// The TLS settings of a connection.
///
/// # Errors
/// [`DatabaseError::Tls`] if the authorities cannot be read.
pub(super) fn connector(
    mode: SslMode,
    root: Option<&Path>,
) -> Result<MakeRustlsConnect, DatabaseError> {
    let default = std::env::home_dir().unwrap_or_default().join(DEFAULT_ROOT);
    let file = root.unwrap_or(&default);
    let chain = match mode {
        SslMode::VerifyCa | SslMode::VerifyFull => Some(chain_verifier(file)?),
        // Like libpq: an administrator who names authorities wants them checked.
        SslMode::Require if root.is_some() || default.exists() => Some(chain_verifier(file)?),
        SslMode::Disable | SslMode::Prefer | SslMode::Require => None,
    };
    let config = client_config(chain, mode != SslMode::VerifyFull)
        .map_err(|error| DatabaseError::Tls(error.into()))?;
    Ok(MakeRustlsConnect::new(config))
}

fn chain_verifier(file: &Path) -> Result<Arc<WebPkiServerVerifier>, DatabaseError> {
    let roots = Arc::new(read_roots(file)?);
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
    verifier.map_err(|error| DatabaseError::Tls(error.into()))
}

fn read_roots(path: &Path) -> Result<RootCertStore, DatabaseError> {
    let failed = |path: &Path, error: &dyn std::error::Error| {
        DatabaseError::Tls(
            format!("cannot read the authorities in {}: {error}", path.display()).into(),
        )
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(path, &error))? {
        let certificate = certificate.map_err(|error| failed(path, &error))?;
        roots
            .add(certificate)
            .map_err(|error| failed(path, &error))?;
    }
    Ok(roots)
}
