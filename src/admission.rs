//! Admission: counts the open connections, in total and by client, and rejects those over a limit.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use crate::tcp::client_of;

/// From this part of a limit on, connections are crowded: three quarters.
const CROWDED: (usize, usize) = (3, 4);

/// The counts and their limits.
pub(crate) struct Admission {
    most: usize,
    max_of_one_client: usize,
    /// Proxies, which have the connections of many clients: only the total limits them.
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
}

/// The limit that a connection would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// That of all connections.
    All,
    /// That of the client's connections.
    Client,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_client: HashMap<IpAddr, usize>,
}

impl Admission {
    pub(crate) fn new(most: usize, max_of_one_client: usize, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self {
            most,
            max_of_one_client,
            proxies,
            open: Mutex::default(),
        })
    }

    /// Counts one more connection.
    ///
    /// # Errors
    /// [`Full`] if it is over a limit.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Admitted, Full> {
        let client = client_of(address);
        let is_proxy = self
            .proxies
            .iter()
            .any(|network| network.contains(&address.to_canonical()));
        let max_of_client = if is_proxy {
            self.most
        } else {
            self.max_of_one_client
        };
        let mut open = self.open();
        let of_this_client = open.by_client.get(&client).copied().unwrap_or(0);
        if of_this_client >= max_of_client {
            return Err(if is_proxy { Full::All } else { Full::Client });
        }
        if open.all >= self.most {
            return Err(Full::All);
        }
        open.all += 1;
        open.by_client.insert(client, of_this_client + 1);
        Ok(Admitted {
            admission: Arc::clone(self),
            client,
            max_of_client,
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // A poisoned lock is usable: no code panics while the counts are inconsistent.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One counted connection. Dropping it, even in a panic, ends the count.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    client: IpAddr,
    max_of_client: usize,
}

impl Admitted {
    /// Whether a limit is nearly reached, of all connections or of this client's.
    pub(crate) fn is_crowded(&self) -> bool {
        let open = self.admission.open();
        let of_this_client = open.by_client.get(&self.client).copied().unwrap_or(0);
        [
            (open.all, self.admission.most),
            (of_this_client, self.max_of_client),
        ]
        .into_iter()
        .any(|(count, most)| count >= most.saturating_mul(CROWDED.0).div_ceil(CROWDED.1))
    }
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
        let admission = Admission::new(3, 2, Vec::new());
        let full = |text| admission.admit(address(text)).err();
        let first = admission.admit(address("192.0.2.1")).unwrap();
        let _second = admission.admit(address("::ffff:192.0.2.1")).unwrap();
        assert_eq!(full("192.0.2.1"), Some(Full::Client));
        let third = admission.admit(address("192.0.2.2")).unwrap();
        assert_eq!(full("192.0.2.3"), Some(Full::All));
        drop(first);
        assert_eq!(full("192.0.2.1"), None);
        drop(third);
        assert_eq!(admission.open().by_client.len(), 1);
    }

    #[test]
    fn connections_are_crowded_from_three_quarters_of_a_limit_on() {
        let admission = Admission::new(8, 4, vec!["192.0.2.7/32".parse().unwrap()]);
        let admit = |text| admission.admit(address(text)).unwrap();
        let first = admit("192.0.2.1");
        let second = admit("192.0.2.1");
        assert!(!first.is_crowded());
        let third = admit("192.0.2.1");
        let other = admit("192.0.2.2");
        assert!(first.is_crowded() && !other.is_crowded());
        drop(third);
        assert!(!second.is_crowded());
        let _of_proxy = [1, 2].map(|_| admit("192.0.2.7"));
        assert!(!other.is_crowded());
        let last = admit("192.0.2.7");
        assert!(other.is_crowded() && last.is_crowded());
    }

    #[test]
    fn an_ipv6_network_is_one_client_and_a_proxy_is_many() {
        let admission = Admission::new(10, 1, vec!["192.0.2.0/24".parse().unwrap()]);
        let _first = admission.admit(address("2001:db8:0:1::1")).unwrap();
        assert!(admission.admit(address("2001:db8:0:1:ffff::2")).is_err());
        assert!(admission.admit(address("2001:db8:0:2::1")).is_ok());
        let _of_proxy = [1, 2, 3].map(|_| admission.admit(address("::ffff:192.0.2.7")).unwrap());
    }

    #[test]
    fn a_panic_ends_the_count_of_its_connection() {
        let admission = Admission::new(1, 1, Vec::new());
        let admitted = admission.admit(address("192.0.2.1")).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _admitted = admitted;
            panic!("a defect in a session");
        }));
        assert!(panicked.is_err());
        assert!(admission.admit(address("192.0.2.1")).is_ok());
    }
}
