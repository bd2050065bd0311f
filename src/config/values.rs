//! Parsers for the values of flags and variables.

use std::time::Duration;

use super::byte_size::{ByteSize, InvalidByteSize};

/// The value of a flag without argument, if its variable is set. Compose files pass an absent variable as an empty one,
/// so an empty value means off.
pub fn boolean(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" | "" => Ok(false),
        _ => Err("write true or false"),
    }
}

/// A parser of sizes of at least `min` bytes.
pub(super) fn size<N: TryFrom<u64>>(min: u64) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let ByteSize(bytes) = text.parse().map_err(|error: InvalidByteSize| error.to_string())?;
        if bytes < min {
            return Err(format!("it must be {} or more", ByteSize(min)));
        }
        N::try_from(bytes).map_err(|_| "it is too large for this machine".to_owned())
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must not be zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}
