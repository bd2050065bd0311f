//! Base64 as applications write it: with line breaks, and with or without padding.

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64.
///
/// # Errors
/// For other characters.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, DecodeError> {
    if text.contains(|character: char| character.is_ascii_whitespace()) {
        LENIENT.decode(text.replace(|character: char| character.is_ascii_whitespace(), ""))
    } else {
        LENIENT.decode(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_applications_write_is_decoded() {
        for text in ["aGVsbG8h", "aGVs\r\nbG8h\n", " aGVsbG8h "] {
            assert_eq!(decode(text).unwrap(), b"hello!");
        }
        assert_eq!(
            (
                decode("aGk").unwrap(),
                decode("aGk=").unwrap(),
                decode("").unwrap()
            ),
            (b"hi".to_vec(), b"hi".to_vec(), Vec::new())
        );
        for text in ["a", "%%%%", "aGk=aGk=", "äöü"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
