//! The certificate for STARTTLS and implicit TLS. If the settings contain none, the first start
//! creates one. If its files change, they are read again.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::Uri;
use restante_smtp::SessionFailure;
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, AlertDescription, ProtocolVersion, ServerConfig};

use crate::clock::{Clock, Instant};
use crate::config::{Settings, TlsFiles};
use crate::os;

/// How often a handshake checks whether the files have changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The line before a generated certificate, with its names.
const NAMES: &str = "Names: ";

/// Why there is no usable certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is not valid PEM.
    #[error("{path} contains no usable PEM: {source}")]
    Pem {
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The chain and the key cannot be used, or do not belong together.
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// No certificate could be generated.
    #[error("cannot generate a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// The certificate, as last read.
pub(super) struct Certificate {
    files: TlsFiles,
    clock: Clock,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamp: Stamp,
    checked_at: Instant,
}

impl Certificate {
    /// Reads the certificate; blocks on the disk.
    pub(super) fn load(files: TlsFiles, clock: Clock) -> Result<Self, TlsError> {
        let stamp = Stamp::of(&files)?;
        let config = Arc::new(read_config(&files)?);
        let current = Mutex::new(Current {
            config,
            stamp,
            checked_at: clock.instant(),
        });
        Ok(Self {
            files,
            clock,
            current,
        })
    }

    /// The certificate for a handshake that starts now.
    pub(super) async fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().await;
        let now = self.clock.instant();
        if now.since(current.checked_at) >= CHECK_INTERVAL {
            current.checked_at = now;
            self.take_up_change(&mut current).await;
        }
        TlsAcceptor::from(Arc::clone(&current.config))
    }

    /// Reads the files again if they have changed. If the new files cannot be used, the old
    /// certificate remains in use.
    async fn take_up_change(&self, current: &mut Current) {
        let files = self.files.clone();
        let known = current.stamp;
        let looked = tokio::task::spawn_blocking(move || {
            let stamp = Stamp::of(&files)?;
            Ok::<_, TlsError>((stamp != known).then(|| (stamp, read_config(&files))))
        });
        match looked.await {
            Ok(Ok(None)) => {}
            Ok(Ok(Some((stamp, Ok(config))))) => {
                (current.stamp, current.config) = (stamp, Arc::new(config));
                tracing::info!(certificate = %self.files.certificate.display(), "using the changed certificate");
            }
            Ok(Ok(Some((stamp, Err(error))))) => {
                // Logged once per change, not once per handshake.
                current.stamp = stamp;
                tracing::warn!(%error, "kept the old certificate");
            }
            Ok(Err(error)) => tracing::warn!(%error, "kept the old certificate"),
            Err(error) => tracing::error!(%error, "checking the certificate failed"),
        }
    }
}

/// Identifies a version of the pair of files.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp([FileStamp; 2]);

#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    identity: u64,
    length: u64,
    modified: SystemTime,
}

impl Stamp {
    fn of(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self([
            FileStamp::of(&files.certificate)?,
            FileStamp::of(&files.key)?,
        ]))
    }
}

impl FileStamp {
    fn of(path: &Path) -> Result<Self, TlsError> {
        let unreadable = |source| TlsError::Read {
            path: path.to_owned(),
            source,
        };
        let metadata = fs::metadata(path).map_err(unreadable)?;
        let modified = metadata.modified().map_err(unreadable)?;
        Ok(Self {
            identity: os::file_identity(&metadata),
            length: metadata.len(),
            modified,
        })
    }
}

fn read_config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let unusable_pem = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, source }
    };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unusable_pem(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unusable_pem(&files.key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(config)
}

/// The names for which a generated certificate is valid. The first ones are required; the last one
/// is the name of the host, which is another one whenever a container is replaced.
pub(super) fn names(settings: &Settings) -> Vec<String> {
    let base_url: Option<Uri> = settings.base_url.as_ref().and_then(|url| url.parse().ok());
    let hosts = [
        base_url.as_ref().and_then(Uri::host),
        settings
            .listeners
            .smtp_public_address
            .as_ref()
            .map(|address| address.host.as_str()),
    ];
    let own = [
        settings.mail_domain.as_str(),
        "restante",
        "localhost",
        "127.0.0.1",
        "::1",
    ];
    let mut names: Vec<String> = own.into_iter().map(str::to_owned).collect();
    names.extend(
        hosts
            .into_iter()
            .flatten()
            .map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()),
    );
    names.extend(settings.tls.tls_names.iter().cloned());
    names.extend(
        os::host_name()
            .map(|name| name.to_ascii_lowercase())
            .filter(|name| name.is_ascii()),
    );
    let mut seen = HashSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names
}

/// Returns the files of the self-signed certificate for `names` in `data_dir`. Creates them if they
/// are missing, or if the certificate lacks a name that is required. Blocks on the disk.
pub(super) fn self_signed(data_dir: &Path, names: &[String]) -> Result<TlsFiles, TlsError> {
    let files = TlsFiles {
        certificate: data_dir.join("tls-cert.pem"),
        key: data_dir.join("tls-key.pem"),
    };
    let header = fs::read_to_string(&files.certificate).unwrap_or_default();
    let known: HashSet<&str> = header
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(NAMES))
        .unwrap_or_default()
        .split(' ')
        .collect();
    let host_name = os::host_name().unwrap_or_default().to_ascii_lowercase();
    if files.key.exists()
        && names
            .iter()
            .all(|name| known.contains(name.as_str()) || *name == host_name)
    {
        return Ok(files);
    }
    let made = rcgen::generate_simple_self_signed(names)?;
    write_whole(&files.key, &made.signing_key.serialize_pem())?;
    // Text before the PEM has no meaning for its readers.
    write_whole(
        &files.certificate,
        &format!("{NAMES}{}\n{}", names.join(" "), made.cert.pem()),
    )?;
    Ok(files)
}

/// Why a client and the server did not complete a handshake.
pub(super) fn failure(error: &io::Error) -> SessionFailure {
    use AlertDescription as Alert;
    if matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
    ) {
        return SessionFailure::LeftInHandshake;
    }
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::AlertReceived(Alert::UnknownCA)) => SessionFailure::UnknownAuthority,
        Some(rustls::Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnrecognisedName
            | Alert::AccessDenied,
        )) => SessionFailure::CertificateRejected,
        Some(
            rustls::Error::AlertReceived(
                Alert::ProtocolVersion | Alert::HandshakeFailure | Alert::InsufficientSecurity,
            )
            | rustls::Error::PeerIncompatible(_),
        ) => SessionFailure::NoCommonTls,
        _ => SessionFailure::HandshakeFailed,
    }
}

/// Writes a new file and renames it, so that a crash never leaves an incomplete file. Only its
/// owner may read it.
fn write_whole(path: &Path, text: &str) -> Result<(), TlsError> {
    let unwritten = path.with_extension("pem.new");
    let write = || {
        match fs::remove_file(&unwritten) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = os::private_file(fs::OpenOptions::new().write(true).create_new(true))
            .open(&unwritten)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unwritten, path)
    };
    write().map_err(|source| TlsError::Write {
        path: path.to_owned(),
        source,
    })
}

/// The name of a TLS version; `None` for one that is never negotiated.
pub(super) fn version_name(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLSv1.2"),
        ProtocolVersion::TLSv1_3 => Some("TLSv1.3"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn domain() -> Vec<String> {
        vec!["restante.example.com".to_owned(), "restante".to_owned()]
    }

    #[test]
    fn the_made_certificate_is_kept_and_its_key_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let files = self_signed(dir.path(), &domain()).unwrap();
        let made = (
            fs::read(&files.certificate).unwrap(),
            fs::read(&files.key).unwrap(),
        );
        assert!(!os::others_may_access(&fs::metadata(&files.key).unwrap()));
        assert_eq!(self_signed(dir.path(), &domain()).unwrap(), files);
        assert_eq!(
            (
                fs::read(&files.certificate).unwrap(),
                fs::read(&files.key).unwrap()
            ),
            made
        );
        assert!(Certificate::load(files, Clock::system()).is_ok());
    }

    #[test]
    fn a_certificate_without_a_required_name_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let made = |names: &[String]| {
            fs::read(self_signed(dir.path(), names).unwrap().certificate).unwrap()
        };
        let first = made(&domain());
        // A container has another name after each replacement.
        let host = os::host_name().unwrap().to_ascii_lowercase();
        assert_eq!(made(&[domain(), vec![host]].concat()), first);
        assert_eq!(made(&domain()[1..]), first);
        assert_ne!(
            made(&[domain(), vec!["mail.internal".to_owned()]].concat()),
            first
        );
    }

    #[test]
    fn the_names_come_from_the_settings() {
        let base_url = Some("https://Mail.example:8443/x".to_owned());
        let mut settings = Settings {
            base_url,
            ..Settings::default()
        };
        settings.tls.tls_names = vec!["mail.internal".to_owned(), "localhost".to_owned()];
        let names = names(&settings);
        assert_eq!(
            names[..7].join(" "),
            "restante.example.com restante localhost 127.0.0.1 ::1 mail.example mail.internal"
        );
        let directory = tempfile::tempdir().unwrap();
        Certificate::load(
            self_signed(directory.path(), &names).unwrap(),
            Clock::system(),
        )
        .unwrap();
    }

    #[test]
    fn half_a_pair_is_generated_again() {
        let dir = tempfile::tempdir().unwrap();
        let files = self_signed(dir.path(), &domain()).unwrap();
        fs::remove_file(&files.certificate).unwrap();
        assert!(
            Certificate::load(self_signed(dir.path(), &domain()).unwrap(), Clock::system()).is_ok()
        );
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let one = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let certificate = self_signed(one.path(), &domain()).unwrap().certificate;
        let key = self_signed(other.path(), &domain()).unwrap().key;
        let refused = Certificate::load(TlsFiles { certificate, key }, Clock::system());
        assert!(matches!(refused, Err(TlsError::Unusable(_))));
    }

    #[test]
    fn a_file_without_a_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = self_signed(dir.path(), &domain()).unwrap();
        fs::write(&files.key, "no key").unwrap();
        assert!(matches!(
            Certificate::load(files, Clock::system()),
            Err(TlsError::Pem { .. })
        ));
    }

    #[tokio::test]
    async fn a_changed_certificate_is_loaded_and_a_broken_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let clock = Clock::manual(Timestamp::from_millis(0));
        let files = self_signed(dir.path(), &domain()).unwrap();
        let certificate = Certificate::load(files.clone(), clock.clone()).unwrap();
        let presented = async || Arc::clone(certificate.acceptor().await.config());
        let first = presented().await;

        fs::write(&files.key, "broken").unwrap();
        clock.advance(CHECK_INTERVAL);
        assert!(Arc::ptr_eq(&first, &presented().await));

        let new = self_signed(other.path(), &domain()).unwrap();
        fs::copy(&new.certificate, &files.certificate).unwrap();
        fs::copy(&new.key, &files.key).unwrap();
        assert!(
            Arc::ptr_eq(&first, &presented().await),
            "not looked at again within the interval"
        );
        clock.advance(CHECK_INTERVAL);
        assert!(!Arc::ptr_eq(&first, &presented().await));
    }
}
