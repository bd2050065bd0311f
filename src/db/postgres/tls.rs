//! Encryption of the connection to PostgreSQL, according to `sslmode` and `sslrootcert`.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls;

use crate::config::SslMode;
use crate::db::DatabaseError;

/// The default of `sslrootcert`, as in psql, relative to the home directory.
const DEFAULT_ROOT: &str = ".postgresql/root.crt";

/// The TLS settings of a connection.
///
/// # Errors
/// [`DatabaseError::Tls`] if the authorities cannot be read.
pub(super) fn connector(mode: SslMode, root: Option<&Path>) -> Result<MakeRustlsConnect, DatabaseError> {
    let provider = Arc::new(ring::default_provider());
    let chain = match mode {
        SslMode::VerifyCa | SslMode::VerifyFull => Some(chain_verifier(root, &provider)?),
        SslMode::Disable | SslMode::Prefer | SslMode::Require => None,
    };
    let verifier = Verifier { chain, any_host: mode != SslMode::VerifyFull, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| DatabaseError::Tls(error.into()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn chain_verifier(
    root: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, DatabaseError> {
    let roots = Arc::new(read_roots(root)?);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
    verifier.map_err(|error| DatabaseError::Tls(error.into()))
}

fn read_roots(root: Option<&Path>) -> Result<RootCertStore, DatabaseError> {
    let failed = |path: &Path, error: &dyn std::error::Error| {
        DatabaseError::Tls(format!("cannot read the authorities in {}: {error}", path.display()).into())
    };
    let default = std::env::home_dir().unwrap_or_default().join(DEFAULT_ROOT);
    let path = root.unwrap_or(&default);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(path, &error))? {
        let certificate = certificate.map_err(|error| failed(path, &error))?;
        roots.add(certificate).map_err(|error| failed(path, &error))?;
    }
    Ok(roots)
}

/// Checks the certificate as far as the mode requires. The signatures of the handshake are always checked.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    any_host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
