//! The TLS client settings: a relay needs a valid certificate, a recipient's server does not.
//!
//! Servers that receive mail for their own domain rarely have a certificate that can be verified,
//! and without TLS the message would be sent in plain text. Unverified encryption is better than
//! none (RFC 7435).

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::error::SenderError;
use crate::tls::client_config;

/// For a relay: its certificate must be signed by a public authority, or by one in the file.
pub(super) fn verified(authorities: Option<&PathBuf>) -> Result<Arc<ClientConfig>, SenderError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let unreadable = |source: pem::Error| SenderError::Authorities {
                path: path.clone(),
                source,
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                roots.add(certificate.map_err(unreadable)?)?;
            }
            if roots.is_empty() {
                return Err(SenderError::NoAuthorities { path: path.clone() });
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?;
    Ok(Arc::new(
        config.with_root_certificates(roots).with_no_client_auth(),
    ))
}

/// For a recipient's server: accepts any certificate.
pub(super) fn unverified() -> Result<Arc<ClientConfig>, SenderError> {
    Ok(Arc::new(client_config(None, true)?))
}

/// The name that the certificate must have; the address if the name cannot be in a certificate.
pub(super) fn server_name(name: &str, address: IpAddr) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap_or_else(|_| ServerName::IpAddress(address.into()))
}
