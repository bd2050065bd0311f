//! The limit on file descriptors. Every connection needs one, and a shell often allows only a
//! thousand.

use crate::config::Limits;
use crate::os;

/// More than all connections that the default limits allow.
const WANTED: u64 = 65_536;
/// For the database, the log, the listeners and the mail worker.
const RESERVED: u64 = 256;

/// Raises the limit to [`WANTED`], or as far as the system allows, and returns the new limit.
pub(super) fn raise_limit() -> u64 {
    os::raise_open_files(WANTED)
}

/// Lowers the connection limits so that `allowed` descriptors are enough, and HTTP and SMTP cannot
/// use each other's share. SMTP has precedence, but a quarter is kept for HTTP.
pub(super) fn divide(limits: &mut Limits, allowed: u64) {
    let shared =
        usize::try_from(allowed.saturating_sub(RESERVED.min(allowed / 4))).unwrap_or(usize::MAX);
    let left = shared
        .saturating_sub(limits.smtp_connections)
        .max(shared / 4)
        .max(1);
    let http = limits.http_connections.min(left);
    let smtp = limits
        .smtp_connections
        .min(shared.saturating_sub(http).max(1));
    for (name, limit, now) in [
        ("HTTP", &mut limits.http_connections, http),
        ("SMTP", &mut limits.smtp_connections, smtp),
    ] {
        if now < *limit {
            tracing::warn!(
                descriptors = allowed,
                "limited to {now} {name} connections instead of {limit}; raise the open-file limit (ulimit -n)"
            );
            *limit = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(http: usize, smtp: usize, allowed: u64) -> (usize, usize) {
        let mut limits = Limits {
            http_connections: http,
            smtp_connections: smtp,
            ..Limits::default()
        };
        divide(&mut limits, allowed);
        (limits.http_connections, limits.smtp_connections)
    }

    #[test]
    fn http_gets_the_descriptors_that_smtp_does_not_need_and_at_least_a_quarter() {
        assert_eq!(divided(10_000, 5_000, 65_536), (10_000, 5_000));
        assert_eq!(divided(10_000, 5_000, u64::MAX), (10_000, 5_000));
        assert_eq!(divided(10_000, 5_000, 10_256), (5_000, 5_000));
        assert_eq!(divided(10_000, 5_000, 1_256), (250, 750));
        assert_eq!(divided(100, 5_000, 1_256), (100, 900));
        assert_eq!(divided(10_000, 100, 1_256), (900, 100));
        assert_eq!(divided(1, 1, 4), (1, 1));
    }
}
