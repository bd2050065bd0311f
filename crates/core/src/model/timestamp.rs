//! An instant in UTC, to the millisecond. All stored and displayed times have this form.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Milliseconds since the Unix epoch, displayed as `2026-11-20T09:30:00.123Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The end of the year 9999.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// Before and after everything that happens.
    pub const MIN: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);

    /// The instant `milliseconds` after the Unix epoch.
    #[must_use]
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The instant `duration` later; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// The instant `duration` earlier; saturates.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// The duration from `earlier` to this instant; zero if this instant is earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The date in the format of a mail header (RFC 5322, section 3.3), in UTC.
    #[must_use]
    pub fn to_rfc5322(self) -> String {
        // HTTP dates differ only in the zone (RFC 9110, section 5.6.7).
        httpdate::fmt_http_date(self.to_system_time()).replace("GMT", "+0000")
    }

    /// The nearest instant between 1970 and the year 9999, because both formats can represent these
    /// years.
    fn to_system_time(self) -> SystemTime {
        let milliseconds = u64::try_from(self.0).unwrap_or(0).min(LAST);
        SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(self.to_system_time()).fmt(formatter)
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(serde::de::Error::custom)?;
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Ok(Self(since.map_or(0, millis)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_in_utc_with_milliseconds() {
        assert_eq!(
            Timestamp::from_millis(1_795_167_000_123).to_string(),
            "2026-11-20T09:30:00.123Z"
        );
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(-1).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_string(),
            "9999-12-31T23:59:59.999Z"
        );
    }

    #[test]
    fn a_mail_date_has_the_day_and_the_zone() {
        assert_eq!(
            Timestamp::from_millis(1_795_167_000_123).to_rfc5322(),
            "Fri, 20 Nov 2026 09:30:00 +0000"
        );
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_rfc5322(),
            "Fri, 31 Dec 9999 23:59:59 +0000"
        );
    }

    #[test]
    fn arithmetic_saturates() {
        let hour = Duration::from_secs(3600);
        assert_eq!(Timestamp::from_millis(1).after(hour).as_millis(), 3_600_001);
        assert_eq!(
            Timestamp::from_millis(i64::MAX).after(hour).as_millis(),
            i64::MAX
        );
        assert_eq!(
            Timestamp::from_millis(5).since(Timestamp::from_millis(9)),
            Duration::ZERO
        );
    }
}
