//! Slows the guessing of keys and tokens: after a few failed attempts, an address waits before its next one counts,
//! twice as long each time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Instant};

/// Failures that cost nothing.
const FREE_FAILURES: u32 = 5;
/// The first wait, and the longest one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);
/// Failures are forgotten after so long without another.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);
/// Addresses that are remembered; the one that failed longest ago makes room.
const ADDRESSES: usize = 10_000;

/// The failed attempts of every address.
#[derive(Debug)]
pub struct Lockout {
    clock: Clock,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Lockout {
    /// Nobody has failed yet.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, failures: Mutex::default() }
    }

    /// How long `peer` has to wait before it may try; `None` where it may.
    pub fn wait(&self, peer: IpAddr) -> Option<Duration> {
        let now = self.clock.instant();
        let failures = *self.failures().get(&network(peer))?;
        let left = failures.last.after(failures.wait()).since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Remembers that `peer` has failed.
    pub fn failed(&self, peer: IpAddr) {
        let (now, mut failures) = (self.clock.instant(), self.failures());
        let peer = network(peer);
        failures.retain(|_, failures| now.since(failures.last) < FORGOTTEN);
        if failures.len() >= ADDRESSES
            && !failures.contains_key(&peer)
            && let Some(oldest) = failures.iter().min_by_key(|(_, failures)| failures.last).map(|(peer, _)| *peer)
        {
            failures.remove(&oldest);
        }
        let entry = failures.entry(peer).or_insert(Failures { count: 0, last: now });
        *entry = Failures { count: entry.count.saturating_add(1), last: now };
    }

    /// Forgets the failures of `peer`, who has signed in.
    pub fn succeeded(&self, peer: IpAddr) {
        self.failures().remove(&network(peer));
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<IpAddr, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failures {
    fn wait(self) -> Duration {
        let Some(over) = self.count.checked_sub(FREE_FAILURES) else { return Duration::ZERO };
        FIRST_WAIT.saturating_mul(2_u32.saturating_pow(over)).min(LONGEST_WAIT)
    }
}

/// Whoever has an IPv6 address has the whole network of 64 bits around it.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    #[test]
    fn waits_double_from_the_fifth_failure_on_and_end_with_success() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let lockout = Lockout::new(clock.clone());
        let peer = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..4 {
            lockout.failed(peer);
            assert_eq!(lockout.wait(peer), None);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            lockout.failed(peer);
            assert_eq!(lockout.wait(peer), Some(Duration::from_secs(seconds)));
            clock.advance(Duration::from_secs(seconds));
            assert_eq!(lockout.wait(peer), None);
        }
        lockout.succeeded(peer);
        lockout.failed(peer);
        assert_eq!(lockout.wait(peer), None);
    }

    #[test]
    fn addresses_fail_alone_and_ipv6_networks_together() {
        let lockout = Lockout::new(Clock::manual(Timestamp::from_millis(0)));
        for host in 0..5 {
            lockout.failed(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]));
        }
        assert!(lockout.wait("2001:db8:0:1::99".parse().unwrap()).is_some());
        assert!(lockout.wait("2001:db8:0:2::1".parse().unwrap()).is_none());
        assert!(lockout.wait("192.0.2.1".parse().unwrap()).is_none());
    }

    #[test]
    fn no_flood_of_addresses_takes_more_than_its_room() {
        let lockout = Lockout::new(Clock::manual(Timestamp::from_millis(0)));
        for number in 0..u32::try_from(ADDRESSES).unwrap() + 50 {
            lockout.failed(IpAddr::from(number.to_be_bytes()));
        }
        assert_eq!(lockout.failures().len(), ADDRESSES);
    }
}
