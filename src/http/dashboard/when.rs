//! Formats times and sizes for people.

use std::time::Duration;

use crate::model::{Timestamp, spoken};

/// An instant: relative to now or to the end of a wait, and exact.
pub(super) struct When {
    pub(super) relative: String,
    pub(super) exact: String,
    /// Whether `relative` stays true, so that the script must not replace it by the time since
    /// then.
    pub(super) is_fixed: bool,
}

impl When {
    pub(super) fn new(instant: Timestamp, now: Timestamp) -> Self {
        let relative = if instant > now {
            format!("in {}", span(instant.since(now)))
        } else if now.since(instant) < Duration::from_secs(5) {
            "now".to_owned()
        } else {
            ago(now.since(instant))
        };
        Self {
            relative,
            exact: instant.to_string(),
            is_fixed: false,
        }
    }

    /// An instant relative to the end of a wait.
    pub(super) fn around(instant: Timestamp, ended_at: Timestamp) -> Self {
        let relative = if instant > ended_at {
            format!("{} after the wait ended", spoken(instant.since(ended_at)))
        } else {
            format!("{} before the wait ended", spoken(ended_at.since(instant)))
        };
        Self {
            relative,
            exact: instant.to_string(),
            is_fixed: true,
        }
    }
}

/// How long ago something was, for example "5 min ago".
pub(super) fn ago(duration: Duration) -> String {
    format!("{} ago", span(duration))
}

/// One number and one unit.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() > 0 => format!("{} ms", duration.as_millis()),
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A size with a suitable unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes * 10 / 1_024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_relative_to_now() {
        let now = Timestamp::from_millis(1_795_167_000_123);
        let relative = |seconds: i64| {
            When::new(
                Timestamp::from_millis(now.as_millis() + seconds * 1_000),
                now,
            )
            .relative
        };
        for (seconds, expected) in [
            (0, "now"),
            (-4, "now"),
            (-59, "59 s ago"),
            (-61, "1 min ago"),
            (-7_300, "2 h ago"),
            (90, "in 1 min"),
            (-200_000, "2 d ago"),
        ] {
            assert_eq!(relative(seconds), expected);
        }
    }

    #[test]
    fn only_a_time_relative_to_now_changes() {
        let instant = Timestamp::from_millis(1_795_167_000_123);
        let later = Timestamp::from_millis(1_795_167_003_123);
        let around = When::around(instant, later);
        assert_eq!(
            (around.relative.as_str(), around.is_fixed),
            ("3 s before the wait ended", true)
        );
        assert!(!When::new(instant, later).is_fixed);
    }

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (26_214_400, "25.0 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
