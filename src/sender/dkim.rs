//! DKIM signatures (RFC 6376, RFC 8463): they prove that a message was sent by the mail domain.
//!
//! The canonical form is `relaxed/relaxed` ([`super::canonical`]). The signature contains no time,
//! so that every copy of a message has the same bytes; mail-auth, with which
//! [`crate::authentication`] verifies, always adds the time.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};

use super::canonical::{RelaxedBody, relaxed_field};
use crate::config::Dkim;
use crate::model::Domain;

/// The header fields that are signed if present. From is listed once more than it occurs, so that
/// adding another From breaks the signature (RFC 6376, section 8.15).
const SIGNED: [&str; 10] = [
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
];
/// A message with a longer header section, in bytes, is not signed: the header is kept in memory
/// until the end of the message, of each message that is being sent.
const MAX_HEADER: usize = 128 * 1024;
/// Names per line of `h=`.
const NAMES_A_LINE: usize = 6;
/// The signature is folded after this many characters.
const FOLD: usize = 72;

/// Why the signing key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DkimError {
    /// The file cannot be read, or is not PEM.
    #[error("cannot read the DKIM key {path}: {source}")]
    Read { path: PathBuf, source: pem::Error },
    /// The key is of another kind.
    #[error("the DKIM key {0} is neither an RSA key of 2048 to 4096 bits nor an Ed25519 key")]
    Unusable(PathBuf),
}

/// Signs messages of one domain.
pub(super) struct Signer {
    key: Key,
    selector: Domain,
    domain: Domain,
}

enum Key {
    Rsa(Box<RsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl Signer {
    /// Reads the key; blocks on the disk.
    ///
    /// # Errors
    /// [`DkimError`].
    pub(super) fn load(dkim: &Dkim, domain: Domain) -> Result<Self, DkimError> {
        let path = &dkim.key;
        let pem = PrivateKeyDer::from_pem_file(path).map_err(|source| DkimError::Read {
            path: path.clone(),
            source,
        })?;
        let key = match &pem {
            PrivateKeyDer::Pkcs8(key) => {
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der())
                    .map(|key| Key::Ed25519(Box::new(key)))
                    .or_else(|_| {
                        RsaKeyPair::from_pkcs8(key.secret_pkcs8_der())
                            .map(|key| Key::Rsa(Box::new(key)))
                    })
                    .ok()
            }
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der())
                .map(|key| Key::Rsa(Box::new(key)))
                .ok(),
            _ => None,
        };
        let key = key.ok_or_else(|| DkimError::Unusable(path.clone()))?;
        Ok(Self {
            key,
            selector: dkim.selector.clone(),
            domain,
        })
    }

    /// The field with the signature of the message that was hashed. There is none if the header is
    /// too long, or if signing fails, which happens only without memory.
    pub(super) fn sign(&self, message: BodyHash) -> Option<String> {
        if message.is_long {
            tracing::warn!("the header of a message is too long to be signed");
            return None;
        }
        let (header, body_hash) = message.finish();
        let (names, mut signed) = signed_fields(&fields(&header));
        let unsigned = format!(
            "v=1; a={}; c=relaxed/relaxed; d={}; s={};\r\n h={names};\r\n bh={body_hash};\r\n b=",
            self.key.algorithm(),
            self.domain,
            self.selector,
        );
        signed.extend(relaxed_field("DKIM-Signature", unsigned.as_bytes()));
        let Some(signature) = self.key.sign(&signed) else {
            tracing::error!("cannot sign a message");
            return None;
        };
        Some(format!(
            "DKIM-Signature: {unsigned}{}\r\n",
            folded(&BASE64_STANDARD.encode(signature))
        ))
    }
}

/// The header of a message and the hash of its body, from a message that is read in pieces.
pub(super) struct BodyHash {
    /// The header section with the empty line after it.
    header: Vec<u8>,
    /// Whether `header` is complete.
    in_body: bool,
    /// Whether the header section is longer than [`MAX_HEADER`]; then nothing is kept.
    is_long: bool,
    body: RelaxedBody<BufWriter<Hasher>>,
}

impl Default for BodyHash {
    fn default() -> Self {
        let body = RelaxedBody::new(BufWriter::new(Hasher::default()));
        Self {
            header: Vec::new(),
            in_body: false,
            is_long: false,
            body,
        }
    }
}

impl BodyHash {
    /// Adds the next piece.
    pub(super) fn add(&mut self, piece: &[u8]) {
        if self.in_body || self.is_long {
            return self.body.add(piece);
        }
        // The end may be divided between two pieces.
        let searched = self.header.len().saturating_sub(3);
        self.header.extend_from_slice(piece);
        if let Some(end) = self.header[searched..]
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
        {
            let body = self.header.split_off(searched + end + 4);
            self.in_body = true;
            self.body.add(&body);
        } else if self.header.len() > MAX_HEADER {
            self.is_long = true;
            self.header = Vec::new();
        }
    }

    /// The header section, and the hash in base64.
    fn finish(self) -> (Vec<u8>, String) {
        let Self {
            mut header,
            in_body,
            body,
            ..
        } = self;
        if in_body {
            header.truncate(header.len() - 2);
        }
        let hasher = body
            .finish()
            .into_inner()
            .expect("SHA-256 takes every byte");
        (header, BASE64_STANDARD.encode(hasher.0.finalize()))
    }
}

/// SHA-256 as a writer, for [`BufWriter`].
#[derive(Debug, Default)]
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Key {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "rsa-sha256",
            Self::Ed25519(_) => "ed25519-sha256",
        }
    }

    fn sign(&self, signed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &SystemRandom::new(),
                    signed,
                    &mut signature,
                )
                .ok()?;
                Some(signature)
            }
            // Ed25519 signs the hash, not the bytes (RFC 8463, section 3).
            Self::Ed25519(key) => Some(key.sign(&Sha256::digest(signed)).as_ref().to_vec()),
        }
    }
}

/// A header field: its name and the text after the colon, without the last line end.
type Field<'a> = (&'a str, &'a [u8]);

fn fields(header: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut rest = header;
    while !rest.is_empty() {
        let end = field_end(rest);
        let (field, after) = rest.split_at(end);
        let field = field.strip_suffix(b"\r\n").unwrap_or(field);
        if let Some(colon) = field.iter().position(|&byte| byte == b':')
            && let Ok(name) = str::from_utf8(&field[..colon])
        {
            fields.push((name.trim_end(), &field[colon + 1..]));
        }
        rest = after;
    }
    fields
}

/// A field ends with the first line whose next line does not begin with white space.
fn field_end(rest: &[u8]) -> usize {
    let line_ends = rest
        .windows(2)
        .enumerate()
        .filter(|(_, bytes)| bytes == b"\r\n");
    let mut ends = line_ends.map(|(position, _)| position + 2);
    ends.find(|&end| !matches!(rest.get(end), Some(b' ' | b'\t')))
        .unwrap_or(rest.len())
}

/// The names for `h=`, and the canonical fields in that order.
fn signed_fields(fields: &[Field<'_>]) -> (String, Vec<u8>) {
    let mut names = Vec::new();
    let mut canonical = Vec::new();
    for wanted in SIGNED {
        // If a field occurs several times, the last is signed first (RFC 6376, section 5.4.2).
        for (name, value) in fields
            .iter()
            .rev()
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted))
        {
            names.push(wanted);
            canonical.extend(relaxed_field(name, value));
            canonical.extend_from_slice(b"\r\n");
        }
    }
    names.push("from");
    let lines: Vec<String> = names
        .chunks(NAMES_A_LINE)
        .map(|names| names.join(":"))
        .collect();
    (lines.join(":\r\n  "), canonical)
}

fn folded(base64: &str) -> String {
    let pieces = base64.as_bytes().chunks(FOLD).map(String::from_utf8_lossy);
    pieces.collect::<Vec<_>>().join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_that_another_implementation_has_verified() {
        let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dkim"));
        let message = std::fs::read(directory.join("message.eml")).unwrap();
        for name in ["rsa", "ed25519"] {
            let key = directory.join(format!("{name}.pem"));
            let dkim = Dkim {
                key,
                selector: Domain::parse(name).unwrap(),
            };
            let signer = Signer::load(&dkim, Domain::parse("restante.test").unwrap()).unwrap();
            let expected = std::fs::read_to_string(directory.join(format!("{name}.eml"))).unwrap();
            for piece in [1, 7, 100, message.len()] {
                let mut hash = BodyHash::default();
                message.chunks(piece).for_each(|piece| hash.add(piece));
                let signature = signer.sign(hash).unwrap();
                assert_eq!(
                    signature + str::from_utf8(&message).unwrap(),
                    expected,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_message_with_a_very_long_header_is_not_signed() {
        let key = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dkim/rsa.pem"));
        let dkim = Dkim {
            key,
            selector: Domain::parse("s").unwrap(),
        };
        let signer = Signer::load(&dkim, Domain::parse("restante.test").unwrap()).unwrap();
        for (length, is_signed) in [(MAX_HEADER / 2, true), (2 * MAX_HEADER, false)] {
            let mut hash = BodyHash::default();
            let message = format!(
                "From: a@b\r\nSubject: {}\r\n\r\ntext\r\n",
                "a ".repeat(length / 2)
            );
            message
                .as_bytes()
                .chunks(16 * 1024)
                .for_each(|piece| hash.add(piece));
            assert!(hash.header.len() < MAX_HEADER);
            assert_eq!(signer.sign(hash).is_some(), is_signed, "{length}");
        }
    }

    #[test]
    fn another_key_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let load = || {
            let dkim = Dkim {
                key: file.path().into(),
                selector: Domain::parse("s").unwrap(),
            };
            Signer::load(&dkim, Domain::parse("restante.test").unwrap()).map(drop)
        };
        assert!(matches!(load(), Err(DkimError::Read { .. })));
        let elliptic = rcgen::KeyPair::generate().unwrap().serialize_pem();
        std::fs::write(&file, elliptic).unwrap();
        assert!(matches!(load(), Err(DkimError::Unusable(_))));
    }
}
