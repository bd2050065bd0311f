//! What the mail worker demands of a server's certificate: of a relay a valid one, of a recipient's server none.
//!
//! Servers that take mail for their own domain rarely have a certificate that anybody could check, and without TLS the
//! message would go in the clear; so any encryption is better than none (RFC 7435).

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SenderError;

/// For a relay: its certificate must stem from a public authority, or from one of the file's.
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

/// For a recipient's server: whatever certificate it has.
pub(super) fn unverified() -> Result<Arc<ClientConfig>, SenderError> {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    Ok(Arc::new(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// The name that a server is asked to prove; its address where it has none that could stand in a certificate.
pub(super) fn server_name(name: &str, address: IpAddr) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap_or_else(|_| ServerName::IpAddress(address.into()))
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()
}

/// Takes every certificate. That the server has its key is proved all the same.
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
