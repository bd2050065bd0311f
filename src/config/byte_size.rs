//! A size on the command line: a number of bytes, or a number with a unit, for example `25MiB`.

use std::fmt;
use std::str::FromStr;

/// The units in bytes, largest first.
const UNITS: [(&str, u64); 3] = [
    ("GiB", 1024 * 1024 * 1024),
    ("MiB", 1024 * 1024),
    ("KiB", 1024),
];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteSize(pub(super) u64);

/// The text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number of bytes, or a number with KiB, MiB or GiB, for example 25MiB")]
pub(super) struct InvalidByteSize;

/// A size as it is written on the command line: `25MiB`.
#[must_use]
pub fn byte_size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

impl FromStr for ByteSize {
    type Err = InvalidByteSize;

    fn from_str(text: &str) -> Result<Self, InvalidByteSize> {
        let with_unit = UNITS
            .iter()
            .find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
        let (number, unit) = with_unit.unwrap_or((text, 1));
        let number: u64 = number.trim_end().parse().map_err(|_| InvalidByteSize)?;
        number.checked_mul(unit).map(Self).ok_or(InvalidByteSize)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS
            .iter()
            .find(|(_, bytes)| self.0 != 0 && self.0.is_multiple_of(*bytes))
        {
            Some((unit, bytes)) => write!(formatter, "{}{unit}", self.0 / bytes),
            None => write!(formatter, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown_alike() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("1000", 1000, "1000"),
            ("2048", 2048, "2KiB"),
            ("25MiB", 25 << 20, "25MiB"),
            ("25 MiB", 25 << 20, "25MiB"),
            ("3GiB", 3 << 30, "3GiB"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(
                (size.0, size.to_string().as_str()),
                (bytes, shown),
                "{text}"
            );
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "MiB",
            "25MB",
            "25mib",
            "-1",
            "1.5MiB",
            "99999999999GiB",
            " 1",
        ] {
            assert_eq!(text.parse::<ByteSize>(), Err(InvalidByteSize), "{text:?}");
        }
    }
}
