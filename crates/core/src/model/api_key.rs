//! API keys: `rst_live_` and a random part. Only the SHA-256 of a key is stored.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand::distr::Alphanumeric;
use sha2::{Digest, Sha256};

/// Random characters of a generated key: 32 of base62 are 190 bits.
const RANDOM_CHARACTERS: usize = 32;
/// Minimum number of characters after the prefix, for a key that an administrator chose.
const MIN_CHARACTERS: usize = 16;
const MAX_CHARACTERS: usize = 128;

/// The text cannot be an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an API key is rst_live_ followed by 16 to 128 letters and digits")]
pub struct InvalidApiKey;

/// A key in plain text. It exists only while it is generated, shown or checked. Its `Debug` output
/// hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The SHA-256 of a key; the only form in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl ApiKey {
    /// What every key begins with.
    pub const PREFIX: &str = "rst_live_";

    /// Generates a random key.
    #[must_use]
    pub fn generate() -> Self {
        let random = rand::rng()
            .sample_iter(Alphanumeric)
            .take(RANDOM_CHARACTERS)
            .map(char::from);
        Self(Self::PREFIX.chars().chain(random).collect())
    }

    /// The key in plain text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last four characters, which are shown to distinguish keys.
    #[must_use]
    pub fn last_four(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }

    /// The hash that is stored.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl FromStr for ApiKey {
    type Err = InvalidApiKey;

    fn from_str(text: &str) -> Result<Self, InvalidApiKey> {
        let chosen = text.strip_prefix(Self::PREFIX).ok_or(InvalidApiKey)?;
        let length_ok = (MIN_CHARACTERS..=MAX_CHARACTERS).contains(&chosen.len());
        if !length_ok || !chosen.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(InvalidApiKey);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKey({}…{})", Self::PREFIX, self.last_four())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_keys_differ_and_parse() {
        let one = ApiKey::generate();
        let other = ApiKey::generate();
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 41);
        assert_eq!(one.as_str().parse(), Ok(one.clone()));
    }

    #[test]
    fn only_keys_are_keys() {
        for text in [
            "",
            "rst_live_",
            "rst_live_short",
            "rst_test_0123456789abcdef",
            "rst_live_0123456789abcde!",
            "rst_live_0123456789abcdeé",
        ] {
            assert_eq!(text.parse::<ApiKey>(), Err(InvalidApiKey), "{text}");
        }
        assert!("rst_live_0123456789abcdef".parse::<ApiKey>().is_ok());
    }

    #[test]
    fn debug_output_hides_the_key() {
        let key = ApiKey::generate();
        assert!(!format!("{key:?}").contains(key.as_str()));
    }
}
