//! A size on the command line: octets, or with a unit as in `25MiB`.

use std::fmt;
use std::str::FromStr;

/// The units and their octets, largest first.
const UNITS: [(&str, u64); 3] = [("GiB", 1024 * 1024 * 1024), ("MiB", 1024 * 1024), ("KiB", 1024)];

/// A number of octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Octets(pub(super) u64);

/// The text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number of octets, or one with KiB, MiB or GiB behind it, as in 25MiB")]
pub(super) struct InvalidOctets;

impl FromStr for Octets {
    type Err = InvalidOctets;

    fn from_str(text: &str) -> Result<Self, InvalidOctets> {
        let with_unit = UNITS.iter().find_map(|(unit, octets)| Some((text.strip_suffix(unit)?, *octets)));
        let (number, unit) = with_unit.unwrap_or((text, 1));
        let number: u64 = number.trim_end().parse().map_err(|_| InvalidOctets)?;
        number.checked_mul(unit).map(Self).ok_or(InvalidOctets)
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, octets)| self.0 != 0 && self.0.is_multiple_of(*octets)) {
            Some((unit, octets)) => write!(formatter, "{}{unit}", self.0 / octets),
            None => write!(formatter, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown_alike() {
        for (text, octets, shown) in [
            ("0", 0, "0"),
            ("1000", 1000, "1000"),
            ("2048", 2048, "2KiB"),
            ("25MiB", 25 << 20, "25MiB"),
            ("25 MiB", 25 << 20, "25MiB"),
            ("3GiB", 3 << 30, "3GiB"),
        ] {
            let size: Octets = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (octets, shown), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "MiB", "25MB", "25mib", "-1", "1.5MiB", "99999999999GiB", " 1"] {
            assert_eq!(text.parse::<Octets>(), Err(InvalidOctets), "{text:?}");
        }
    }
}
