//! Time-based codes of a second factor (RFC 6238): the secret as applications show it, and the code
//! of an instant.

use std::time::Duration;

use ring::hmac;
use url::Url;

/// A code that ends sooner may have ended when it is typed, so the next one is used.
const MIN_LEFT: Duration = Duration::from_secs(3);
/// Periods and secrets that applications use are far shorter.
const MAX_PERIOD: u64 = 3_600;
const MAX_SECRET_BYTES: usize = 1_024;

/// A secret, and how codes are made from it.
#[derive(Clone)]
pub struct Totp {
    key: hmac::Key,
    digits: u32,
    period: u64,
}

/// Why a text is no secret. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// A letter that base32 does not have, no letter at all, or far too many.
    #[error("the secret is not base32: letters and the digits 2 to 7")]
    Base32,
    /// An `otpauth:` URI of another kind, or without a secret.
    #[error("write otpauth://totp/NAME?secret=…")]
    Uri,
    /// An algorithm that is not supported.
    #[error("the algorithm is SHA1, SHA256 or SHA512")]
    Algorithm,
    /// Too few or too many digits.
    #[error("a code has 6 to 8 digits")]
    Digits,
    /// A period that is too short or too long.
    #[error("the period is 4 to 3600 seconds")]
    Period,
}

impl Totp {
    /// Parses a secret in base32, as applications show it, or an `otpauth:` URI.
    ///
    /// # Errors
    /// [`InvalidSecret`].
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let text = text.trim();
        let is_uri = text
            .get(..8)
            .is_some_and(|start| start.eq_ignore_ascii_case("otpauth:"));
        if !is_uri {
            return Self::new(text, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, 6, 30);
        }
        let uri = Url::parse(text).map_err(|_| InvalidSecret::Uri)?;
        if uri
            .host_str()
            .is_none_or(|kind| !kind.eq_ignore_ascii_case("totp"))
        {
            return Err(InvalidSecret::Uri);
        }
        let given = |name: &str| {
            uri.query_pairs()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        };
        let algorithm = match given("algorithm")
            .map(|name| name.to_ascii_uppercase().replace('-', ""))
            .as_deref()
        {
            None | Some("SHA1") => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Some("SHA256") => hmac::HMAC_SHA256,
            Some("SHA512") => hmac::HMAC_SHA512,
            Some(_) => return Err(InvalidSecret::Algorithm),
        };
        let digits = given("digits")
            .map_or(Ok(6), |text| text.parse())
            .map_err(|_| InvalidSecret::Digits)?;
        let period = given("period")
            .map_or(Ok(30), |text| text.parse())
            .map_err(|_| InvalidSecret::Period)?;
        Self::new(
            &given("secret").ok_or(InvalidSecret::Uri)?,
            algorithm,
            digits,
            period,
        )
    }

    fn new(
        secret: &str,
        algorithm: hmac::Algorithm,
        digits: u32,
        period: u64,
    ) -> Result<Self, InvalidSecret> {
        let secret = base32(secret).ok_or(InvalidSecret::Base32)?;
        if !(6..=8).contains(&digits) {
            return Err(InvalidSecret::Digits);
        }
        // A shorter period has no code that does not end too soon.
        if !(MIN_LEFT.as_secs() + 1..=MAX_PERIOD).contains(&period) {
            return Err(InvalidSecret::Period);
        }
        Ok(Self {
            key: hmac::Key::new(algorithm, &secret),
            digits,
            period,
        })
    }

    /// How long to wait until the code does not end too soon.
    #[must_use]
    pub fn pause(&self, since_epoch: Duration) -> Duration {
        let period = Duration::from_secs(self.period).as_millis();
        let left = period - since_epoch.as_millis() % period;
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        if left < MIN_LEFT {
            left
        } else {
            Duration::ZERO
        }
    }

    /// The code of an instant (RFC 4226, section 5.3).
    #[must_use]
    pub fn code(&self, since_epoch: Duration) -> String {
        let counter = since_epoch.as_secs() / self.period;
        let tag = hmac::sign(&self.key, &counter.to_be_bytes());
        let bytes = tag.as_ref();
        let offset = usize::from(bytes[bytes.len() - 1] & 15);
        let chosen = [0, 1, 2, 3].map(|index| bytes[offset + index]);
        let number = u32::from_be_bytes(chosen) & 0x7fff_ffff;
        format!(
            "{:0width$}",
            number % 10_u32.pow(self.digits),
            width = self.digits as usize
        )
    }
}

impl std::fmt::Debug for Totp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Totp")
    }
}

/// Decodes base32 (RFC 4648) in any case, with spaces and hyphens between groups, with or without
/// padding.
fn base32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut held = 0_u32;
    for letter in text
        .bytes()
        .filter(|byte| !matches!(byte, b' ' | b'-' | b'=' | b'\t'))
    {
        let value = match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xfff;
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or(0));
        }
    }
    (!bytes.is_empty() && bytes.len() <= MAX_SECRET_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secrets of RFC 6238, appendix B, in base32.
    const SHA1: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    const SHA256: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA";
    const SHA512: &str = concat!(
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBV",
        "GY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA",
    );

    #[test]
    fn the_codes_are_those_of_the_rfc() {
        for (seconds, one, two, three) in [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ] {
            for (algorithm, secret, code) in [
                ("SHA1", SHA1, one),
                ("SHA256", SHA256, two),
                ("SHA512", SHA512, three),
            ] {
                let uri =
                    format!("otpauth://totp/a?secret={secret}&algorithm={algorithm}&digits=8");
                assert_eq!(
                    Totp::parse(&uri)
                        .unwrap()
                        .code(Duration::from_secs(seconds)),
                    code,
                    "{algorithm} {seconds}"
                );
            }
        }
    }

    #[test]
    fn a_secret_is_read_as_applications_show_it() {
        let at = Duration::from_secs(59);
        for text in [
            SHA1.to_lowercase(),
            "gezd gnbv gy3t qojq gezd gnbv gy3t qojq".to_owned(),
            format!("{SHA1}===="),
        ] {
            assert_eq!(Totp::parse(&text).unwrap().code(at), "287082", "{text}");
        }
        let uri = format!("OTPAUTH://TOTP/Shop:ada?issuer=Shop&secret={SHA1}&period=60&digits=7");
        assert_eq!(
            Totp::parse(&uri).unwrap().code(Duration::from_secs(119)),
            "4287082"
        );
        for (text, error) in [
            ("", InvalidSecret::Base32),
            ("ABC1", InvalidSecret::Base32),
            ("otpauth://hotp/a?secret=GEZDGNBV", InvalidSecret::Uri),
            ("otpauth://totp/a", InvalidSecret::Uri),
            (
                "otpauth://totp/a?secret=GEZDGNBV&algorithm=MD5",
                InvalidSecret::Algorithm,
            ),
            (
                "otpauth://totp/a?secret=GEZDGNBV&digits=5",
                InvalidSecret::Digits,
            ),
            (
                "otpauth://totp/a?secret=GEZDGNBV&period=3",
                InvalidSecret::Period,
            ),
        ] {
            assert_eq!(Totp::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn a_code_that_ends_within_three_seconds_is_not_used() {
        let totp = Totp::parse(SHA1).unwrap();
        for (milliseconds, pause) in [
            (0, 0),
            (27_000, 0),
            (27_001, 2_999),
            (29_999, 1),
            (57_500, 2_500),
        ] {
            assert_eq!(
                totp.pause(Duration::from_millis(milliseconds)),
                Duration::from_millis(pause),
                "{milliseconds}"
            );
        }
    }
}
