//! Slows down the guessing of keys and tokens: after a few failed attempts, a client must wait
//! before the next one, and each wait is twice as long as the last.
//!
//! A login over SMTP is only delayed if it fails, because a whole test suite may use one address:
//! the wrong key of one project must not lock out the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Instant};
use crate::tcp::client_of;

/// Failures that are allowed before a client has to wait.
const FREE_FAILURES: u32 = 5;
/// The first wait and the longest wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(5 * 60);
/// Maximum delay of the reply to a failed SMTP login. Many clients give up after a minute.
const MAX_REPLY_DELAY: Duration = Duration::from_secs(30);
/// Failures are forgotten this long after the last one.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);
/// Maximum number of entries; a new one replaces the one whose last failure is oldest.
const ENTRIES: usize = 10_000;

/// The kind of credential. Failures are counted for each kind separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CredentialKind {
    /// An API key.
    ApiKey,
    /// The administrator's token.
    AdminToken,
    /// An API key over SMTP.
    SmtpLogin,
}

/// The failed attempts by credential kind and client.
#[derive(Debug)]
pub struct Lockout {
    clock: Clock,
    failures: Mutex<HashMap<Guesser, Failures>>,
}

/// A client: an IPv4 address or an IPv6 network of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Guesser {
    kind: CredentialKind,
    network: IpAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failures {
    count: u32,
    last: Instant,
}

/// An attempt that is already counted as failed, so that the limit also holds for simultaneous
/// guesses.
#[derive(Debug)]
#[must_use = "an attempt counts as failed until it is withdrawn"]
pub struct SignInAttempt<'a> {
    lockout: &'a Lockout,
    guesser: Guesser,
    before: Option<Failures>,
    counted: Failures,
}

impl Lockout {
    /// Starts without any failures.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            failures: Mutex::default(),
        }
    }

    /// Counts an attempt of `client`; called before the secret is compared.
    ///
    /// # Errors
    /// How long the client must wait before its next attempt.
    pub fn attempt(
        &self,
        kind: CredentialKind,
        client: IpAddr,
    ) -> Result<SignInAttempt<'_>, Duration> {
        let guesser = Guesser {
            kind,
            network: client_of(client),
        };
        let (now, mut failures) = (self.clock.instant(), self.failures());
        failures.retain(|_, failures| now.since(failures.last) < FORGOTTEN);
        let before = failures.get(&guesser).copied();
        let wait = before
            .map(|before| before.last.after(before.wait()).since(now))
            .unwrap_or_default();
        if !wait.is_zero() {
            return Err(wait);
        }
        let counted = count(&mut failures, guesser, now);
        Ok(SignInAttempt {
            lockout: self,
            guesser,
            before,
            counted,
        })
    }

    /// Counts a failed SMTP login of `client`. Returns how long its reply has to be delayed.
    pub fn smtp_login_failed(&self, client: IpAddr) -> Duration {
        let guesser = Guesser {
            kind: CredentialKind::SmtpLogin,
            network: client_of(client),
        };
        let (now, mut failures) = (self.clock.instant(), self.failures());
        failures.retain(|_, failures| now.since(failures.last) < FORGOTTEN);
        count(&mut failures, guesser, now)
            .wait()
            .min(MAX_REPLY_DELAY)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<Guesser, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one more failure. If there is no room for another client, the one whose last failure is
/// oldest is forgotten.
fn count(failures: &mut HashMap<Guesser, Failures>, guesser: Guesser, now: Instant) -> Failures {
    let before = failures.get(&guesser).copied();
    if before.is_none()
        && failures.len() >= ENTRIES
        && let Some(oldest) = failures
            .iter()
            .min_by_key(|(_, failures)| failures.last)
            .map(|(oldest, _)| *oldest)
    {
        failures.remove(&oldest);
    }
    let counted = Failures {
        count: before.map_or(1, |before| before.count.saturating_add(1)),
        last: now,
    };
    failures.insert(guesser, counted);
    counted
}

impl SignInAttempt<'_> {
    /// Subtracts this attempt. Earlier failures remain counted, so that a client with one valid
    /// credential cannot reset the count while it guesses another.
    pub fn withdraw(self) {
        let mut failures = self.lockout.failures();
        let Some(entry) = failures.get_mut(&self.guesser) else {
            return;
        };
        match self.before {
            Some(before) if *entry == self.counted => *entry = before,
            None if *entry == self.counted => drop(failures.remove(&self.guesser)),
            // There were other attempts in the meantime.
            _ => entry.count = entry.count.saturating_sub(1),
        }
    }
}

impl Failures {
    fn wait(self) -> Duration {
        let Some(over) = self.count.checked_sub(FREE_FAILURES) else {
            return Duration::ZERO;
        };
        FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(over))
            .min(MAX_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::CredentialKind::{AdminToken, ApiKey};
    use super::*;
    use crate::model::Timestamp;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn lockout() -> (Clock, Lockout) {
        let clock = Clock::manual(Timestamp::from_millis(0));
        (clock.clone(), Lockout::new(clock))
    }

    fn fail(lockout: &Lockout, kind: CredentialKind, client: IpAddr) {
        drop(lockout.attempt(kind, client).unwrap());
    }

    #[test]
    fn waits_double_from_the_fifth_failure_on() {
        let (clock, lockout) = lockout();
        for _ in 0..4 {
            fail(&lockout, ApiKey, CLIENT);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            fail(&lockout, ApiKey, CLIENT);
            assert_eq!(
                lockout.attempt(ApiKey, CLIENT).unwrap_err(),
                Duration::from_secs(seconds)
            );
            clock.advance(Duration::from_secs(seconds));
        }
        clock.advance(FORGOTTEN);
        for _ in 0..5 {
            fail(&lockout, ApiKey, CLIENT);
        }
    }

    #[test]
    fn replies_to_failed_smtp_logins_are_delayed_more_and_more() {
        let (clock, lockout) = lockout();
        let seconds: Vec<u64> = (0..12)
            .map(|_| lockout.smtp_login_failed(CLIENT).as_secs())
            .collect();
        assert_eq!(seconds, [0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30, 30]);
        assert!(
            lockout.attempt(ApiKey, CLIENT).is_ok(),
            "the dashboard counts for itself"
        );
        clock.advance(FORGOTTEN);
        assert_eq!(lockout.smtp_login_failed(CLIENT), Duration::ZERO);
    }

    #[test]
    fn a_success_undoes_only_its_own_attempt() {
        let (_, lockout) = lockout();
        for _ in 0..4 {
            fail(&lockout, AdminToken, CLIENT);
        }
        for kind in [AdminToken, ApiKey, AdminToken, ApiKey] {
            lockout.attempt(kind, CLIENT).unwrap().withdraw();
        }
        fail(&lockout, AdminToken, CLIENT);
        assert!(lockout.attempt(AdminToken, CLIENT).is_err());
    }

    #[test]
    fn successes_cost_nothing() {
        let (_, lockout) = lockout();
        for _ in 0..100 {
            lockout.attempt(ApiKey, CLIENT).unwrap().withdraw();
        }
        let simultaneous: Vec<_> = (0..5)
            .map(|_| lockout.attempt(ApiKey, CLIENT).unwrap())
            .collect();
        simultaneous.into_iter().for_each(SignInAttempt::withdraw);
        assert!(lockout.attempt(ApiKey, CLIENT).is_ok());
    }

    #[test]
    fn simultaneous_guesses_are_counted_before_they_are_compared() {
        let (_, lockout) = lockout();
        let admitted: Vec<_> = (0..300)
            .filter_map(|_| lockout.attempt(ApiKey, CLIENT).ok())
            .collect();
        assert_eq!(admitted.len(), 5);
    }

    #[test]
    fn each_kind_each_address_and_each_ipv6_network_is_counted_alone() {
        let (_, lockout) = lockout();
        for host in 0..5 {
            fail(
                &lockout,
                ApiKey,
                IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]),
            );
        }
        let may_try = |kind, client: &str| lockout.attempt(kind, client.parse().unwrap()).is_ok();
        assert!(!may_try(ApiKey, "2001:db8:0:1::99"));
        assert!(may_try(AdminToken, "2001:db8:0:1::99"));
        assert!(may_try(ApiKey, "2001:db8:0:2::1"));
        assert!(may_try(ApiKey, "192.0.2.1"));
    }

    #[test]
    fn a_flood_of_addresses_takes_bounded_memory() {
        let (_, lockout) = lockout();
        let entry = |number: u32| {
            let guesser = Guesser {
                kind: ApiKey,
                network: IpAddr::from(number.to_be_bytes()),
            };
            (
                guesser,
                Failures {
                    count: 1,
                    last: Instant::default(),
                },
            )
        };
        lockout
            .failures()
            .extend((0..u32::try_from(ENTRIES).unwrap()).map(entry));
        for number in 0..50_u32 {
            fail(&lockout, AdminToken, IpAddr::from(number.to_be_bytes()));
        }
        assert_eq!(lockout.failures().len(), ENTRIES);
    }
}
