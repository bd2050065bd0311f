//! The TLS client settings: a relay needs a valid certificate, a recipient's server does not.
//!
//! Servers that receive mail for their own domain rarely have a certificate that can be checked, and without TLS the
//! message would be sent in plain text; so unverified encryption is better than none (RFC 7435).

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SenderError;

/// For a relay: its certificate must be signed by a public authority, or by one in the file.
pub(super) fn verified(authorities: Option<&PathBuf>) -> Result<Arc<ClientConfig>, SenderError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let unreadable = |source: pem::Error| SenderError::Authorities { path: path.clone(), source };
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                roots.add(certificate.map_err(unreadable)?)?;
            }
        }
    }
    Ok(Arc::new(builder()?.with_root_certificates(roots).with_no_client_auth()))
}

/// For a recipient's server: accepts any certificate.
pub(super) fn unverified() -> Result<Arc<ClientConfig>, SenderError> {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    Ok(Arc::new(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// The name that the certificate must have; the address if the name cannot be in a certificate.
pub(super) fn server_name(name: &str, address: IpAddr) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap_or_else(|_| ServerName::IpAddress(address.into()))
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()
}

/// Accepts every certificate. The server must still prove that it has the certificate's key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
