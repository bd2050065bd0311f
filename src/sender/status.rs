//! Enhanced status codes (RFC 3463).

use std::fmt;

/// An enhanced status code: class, subject, detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) u8, pub(super) u16, pub(super) u16);

impl Status {
    /// The class of failures that may be retried.
    pub(super) const TRANSIENT: u8 = 4;
    /// The class of permanent failures.
    pub(super) const PERMANENT: u8 = 5;
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}
