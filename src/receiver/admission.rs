//! Admission: counts the open connections, in total and by client, and rejects those over a limit.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Limits;
use crate::tcp::client_of;

/// The counts and their limits.
pub(super) struct Admission {
    most: usize,
    most_of_one_client: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_client: HashMap<IpAddr, usize>,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            most: limits.smtp_connections,
            most_of_one_client: limits.smtp_connections_per_address,
            open: Mutex::default(),
        })
    }

    /// Counts one more connection, unless it is over a limit.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admitted> {
        let client = client_of(address);
        let mut open = self.open();
        let of_this_client = open.by_client.get(&client).copied().unwrap_or(0);
        if open.all >= self.most || of_this_client >= self.most_of_one_client {
            return None;
        }
        open.all += 1;
        open.by_client.insert(client, of_this_client + 1);
        Some(Admitted { admission: Arc::clone(self), client })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // A poisoned lock is usable: no code panics while the counts are inconsistent.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One counted connection. Dropping it, even in a panic, ends the count.
pub(super) struct Admitted {
    admission: Arc<Admission>,
    client: IpAddr,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.admission.open();
        open.all -= 1;
        match open.by_client.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connections_are_limited_in_total_and_by_client() {
        let limits = Limits { smtp_connections: 3, smtp_connections_per_address: 2, ..Limits::default() };
        let admission = Admission::new(&limits);
        let first = admission.admit(address("192.0.2.1")).unwrap();
        let _second = admission.admit(address("::ffff:192.0.2.1")).unwrap();
        assert!(admission.admit(address("192.0.2.1")).is_none());
        let third = admission.admit(address("192.0.2.2")).unwrap();
        assert!(admission.admit(address("192.0.2.3")).is_none());
        drop(first);
        assert!(admission.admit(address("192.0.2.1")).is_some());
        drop(third);
        assert_eq!(admission.open().by_client.len(), 1);
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let admission = Admission::new(&Limits { smtp_connections_per_address: 1, ..Limits::default() });
        let _first = admission.admit(address("2001:db8:0:1::1")).unwrap();
        assert!(admission.admit(address("2001:db8:0:1:ffff::2")).is_none());
        assert!(admission.admit(address("2001:db8:0:2::1")).is_some());
    }

    #[test]
    fn a_panic_ends_the_count_of_its_connection() {
        let admission = Admission::new(&Limits { smtp_connections: 1, ..Limits::default() });
        let admitted = admission.admit(address("192.0.2.1")).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _admitted = admitted;
            panic!("a defect in a session");
        }));
        assert!(panicked.is_err());
        assert!(admission.admit(address("192.0.2.1")).is_some());
    }
}
