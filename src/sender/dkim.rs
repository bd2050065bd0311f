//! DKIM signatures (RFC 6376, RFC 8463): they prove that a message was sent by the mail domain.
//!
//! The canonical form is `relaxed/relaxed`, so servers on the way may change white space. Signing uses ring, which TLS
//! needs anyway; the DKIM libraries use an RSA implementation with a known timing weakness. The signature contains no
//! time, so that every copy of a message has the same bytes.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use restante_mail::report::header_section;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};

use crate::config::Dkim;
use crate::model::Domain;

/// The header fields that are signed if present. From is listed once more than it occurs, so that adding another From
/// breaks the signature (RFC 6376, section 8.15).
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
/// Names per line of `h=`.
const NAMES_A_LINE: usize = 6;
/// The signature is folded after this many characters.
const FOLD: usize = 72;

/// Why the signing key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DkimError {
    /// The file cannot be read, or is not PEM.
    #[error("cannot read the DKIM key {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: pem::Error,
    },
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
        let pem =
            PrivateKeyDer::from_pem_file(path).map_err(|source| DkimError::Read { path: path.clone(), source })?;
        let key = match &pem {
            PrivateKeyDer::Pkcs8(key) => Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der())
                .map(|key| Key::Ed25519(Box::new(key)))
                .or_else(|_| RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map(|key| Key::Rsa(Box::new(key))))
                .ok(),
            PrivateKeyDer::Pkcs1(key) => {
                RsaKeyPair::from_der(key.secret_pkcs1_der()).map(|key| Key::Rsa(Box::new(key))).ok()
            }
            _ => None,
        };
        let key = key.ok_or_else(|| DkimError::Unusable(path.clone()))?;
        Ok(Self { key, selector: dkim.selector.clone(), domain })
    }

    /// The message, preceded by its signature. If signing fails, which happens only without memory, there is no
    /// signature.
    pub(super) fn sign(&self, message: Vec<u8>) -> Vec<u8> {
        let (header, body) = split(&message);
        let fields = fields(header);
        let body_hash = BASE64_STANDARD.encode(Sha256::digest(relaxed_body(body)));
        let (names, mut signed) = signed_fields(&fields);
        let unsigned = format!(
            "v=1; a={}; c=relaxed/relaxed; d={}; s={};\r\n h={names};\r\n bh={body_hash};\r\n b=",
            self.key.algorithm(),
            self.domain,
            self.selector,
        );
        signed.extend(relaxed_field("DKIM-Signature", unsigned.as_bytes()));
        let Some(signature) = self.key.sign(&signed) else {
            tracing::error!("cannot sign a message");
            return message;
        };
        let field = format!("DKIM-Signature: {unsigned}{}\r\n", folded(&BASE64_STANDARD.encode(signature)));
        [field.into_bytes(), message].concat()
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
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed, &mut signature).ok()?;
                Some(signature)
            }
            // Ed25519 signs the hash, not the bytes (RFC 8463, section 3).
            Self::Ed25519(key) => Some(key.sign(&Sha256::digest(signed)).as_ref().to_vec()),
        }
    }
}

/// A header field: its name and the text after the colon, without the last line end.
type Field<'a> = (&'a str, &'a [u8]);

/// The header section, and the body after the empty line.
fn split(message: &[u8]) -> (&[u8], &[u8]) {
    let header = header_section(message);
    (header, message.get(header.len() + 2..).unwrap_or_default())
}

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
    let line_ends = rest.windows(2).enumerate().filter(|(_, bytes)| bytes == b"\r\n");
    let mut ends = line_ends.map(|(position, _)| position + 2);
    ends.find(|&end| !matches!(rest.get(end), Some(b' ' | b'\t'))).unwrap_or(rest.len())
}

/// The names for `h=`, and the canonical fields in that order.
fn signed_fields(fields: &[Field<'_>]) -> (String, Vec<u8>) {
    let mut names = Vec::new();
    let mut canonical = Vec::new();
    for wanted in SIGNED {
        // If a field occurs several times, the last is signed first (RFC 6376, section 5.4.2).
        for (name, value) in fields.iter().rev().filter(|(name, _)| name.eq_ignore_ascii_case(wanted)) {
            names.push(wanted);
            canonical.extend(relaxed_field(name, value));
            canonical.extend_from_slice(b"\r\n");
        }
    }
    names.push("from");
    let lines: Vec<String> = names.chunks(NAMES_A_LINE).map(|names| names.join(":")).collect();
    (lines.join(":\r\n  "), canonical)
}

/// RFC 6376, section 3.4.2, without the line end.
fn relaxed_field(name: &str, value: &[u8]) -> Vec<u8> {
    let unfolded: Vec<u8> = value.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let mut canonical = name.to_ascii_lowercase().into_bytes();
    canonical.push(b':');
    canonical.extend(single_spaced(&unfolded));
    canonical
}

/// RFC 6376, section 3.4.4: white space at line ends and empty lines at the end are ignored.
fn relaxed_body(body: &[u8]) -> Vec<u8> {
    let mut canonical = Vec::with_capacity(body.len());
    let mut written = 0;
    for line in body.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // White space at the start of a line becomes one space.
        if line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) && !line.trim_ascii().is_empty() {
            canonical.push(b' ');
        }
        let before = canonical.len();
        canonical.extend(single_spaced(line));
        let empty = canonical.len() == before;
        canonical.extend_from_slice(b"\r\n");
        if !empty {
            written = canonical.len();
        }
    }
    canonical.truncate(written);
    canonical
}

/// The words, separated by one space.
fn single_spaced(text: &[u8]) -> Vec<u8> {
    let words = text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

fn folded(base64: &str) -> String {
    let pieces = base64.as_bytes().chunks(FOLD).map(String::from_utf8_lossy);
    pieces.collect::<Vec<_>>().join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relaxed_forms_of_the_standard_s_example() {
        // RFC 6376, section 3.4.5.
        let message = b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n";
        let (header, body) = split(message);
        let canonical: Vec<Vec<u8>> = fields(header).iter().map(|(name, value)| relaxed_field(name, value)).collect();
        assert_eq!(canonical, [b"a:X".to_vec(), b"b:Y Z".to_vec()]);
        assert_eq!(relaxed_body(body), b" C\r\nD E\r\n");
    }

    #[test]
    fn an_empty_body_has_no_bytes() {
        for body in [&b""[..], b"\r\n", b"\r\n\r\n", b" \t\r\n"] {
            assert_eq!(relaxed_body(body), b"");
        }
        assert_eq!(relaxed_body(b"a"), b"a\r\n");
    }

    #[test]
    fn signatures_are_those_that_another_implementation_has_verified() {
        let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dkim"));
        let message = std::fs::read(directory.join("message.eml")).unwrap();
        for name in ["rsa", "ed25519"] {
            let key = directory.join(format!("{name}.pem"));
            let dkim = Dkim { key, selector: Domain::parse(name).unwrap() };
            let signer = Signer::load(&dkim, Domain::parse("restante.test").unwrap()).unwrap();
            let signed = String::from_utf8(signer.sign(message.clone())).unwrap();
            let expected = std::fs::read_to_string(directory.join(format!("{name}.eml"))).unwrap();
            assert_eq!(signed, expected, "{name}");
        }
    }

    #[test]
    fn another_key_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let load = || {
            let dkim = Dkim { key: file.path().into(), selector: Domain::parse("s").unwrap() };
            Signer::load(&dkim, Domain::parse("restante.test").unwrap()).map(drop)
        };
        assert!(matches!(load(), Err(DkimError::Read { .. })));
        let elliptic = rcgen::KeyPair::generate().unwrap().serialize_pem();
        std::fs::write(&file, elliptic).unwrap();
        assert!(matches!(load(), Err(DkimError::Unusable(_))));
    }
}
