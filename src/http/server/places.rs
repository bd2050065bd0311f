//! The places of the open connections. At a limit, the connection that has been idle longest is
//! closed, so that idle clients cannot keep others out. A connection is idle while it has no
//! request; an open wait is a request.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::admission::{Admission, Admitted, Full};

/// The places of one listener.
pub(super) struct Places {
    admission: Arc<Admission>,
    idle: Mutex<Idle>,
    /// Notified when a connection becomes idle.
    changed: Notify,
}

/// The idle connections, by the order in which they became idle.
#[derive(Default)]
struct Idle {
    last: u64,
    by_age: BTreeMap<u64, IdleConnection>,
    by_client: BTreeSet<(IpAddr, u64)>,
}

struct IdleConnection {
    admitted: Admitted,
    close: CancellationToken,
}

/// The place of one connection. It is free again when the connection ends.
pub(super) struct Place {
    places: Arc<Places>,
    state: Mutex<State>,
    close: CancellationToken,
}

enum State {
    /// The key of [`Idle::by_age`].
    Idle(u64),
    Busy,
    Ended,
}

/// A connection with a request; dropping this makes it idle.
pub(super) struct Busy {
    place: Arc<Place>,
    /// `None` if the place was given to another connection while the request arrived.
    admitted: Option<Admitted>,
}

impl Places {
    pub(super) fn new(admission: Arc<Admission>) -> Arc<Self> {
        Arc::new(Self {
            admission,
            idle: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// A place for a new connection, if necessary that of the one that has been idle longest.
    ///
    /// # Errors
    /// The limit at which no connection is idle.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Result<Arc<Place>, Full> {
        let admitted = match self.admission.admit(address) {
            Ok(admitted) => admitted,
            Err(full) => {
                let client = matches!(full, Full::Client).then(|| crate::tcp::client_of(address));
                let closed = self.idle().take_longest(client).ok_or(full)?;
                closed.close.cancel();
                drop(closed.admitted);
                self.admission.admit(address)?
            }
        };
        let close = CancellationToken::new();
        let state = Mutex::new(State::Idle(self.idle().add(admitted, close.clone())));
        Ok(Arc::new(Place {
            places: Arc::clone(self),
            state,
            close,
        }))
    }

    /// Returns when a connection has become idle since the last return.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        // A poisoned lock is usable: no code panics while the entries are inconsistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn add(&mut self, admitted: Admitted, close: CancellationToken) -> u64 {
        self.last += 1;
        self.by_client.insert((admitted.client(), self.last));
        self.by_age
            .insert(self.last, IdleConnection { admitted, close });
        self.last
    }

    fn remove(&mut self, number: u64) -> Option<IdleConnection> {
        let found = self.by_age.remove(&number)?;
        self.by_client.remove(&(found.admitted.client(), number));
        Some(found)
    }

    /// Removes the connection that has been idle longest, of this client or of all.
    fn take_longest(&mut self, client: Option<IpAddr>) -> Option<IdleConnection> {
        let number = match client {
            Some(client) => self
                .by_client
                .range((client, 0)..=(client, u64::MAX))
                .next()
                .map(|(_, number)| *number),
            None => self.by_age.keys().next().copied(),
        };
        self.remove(number?)
    }
}

impl Place {
    /// Returns when the connection has to be closed, because its place was given to another one.
    pub(super) async fn lost(&self) {
        self.close.cancelled().await;
    }

    /// Whether there is no request.
    pub(super) fn is_idle(&self) -> bool {
        matches!(*self.state(), State::Idle(_))
    }

    /// A request has arrived.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        let mut state = self.state();
        let idle = match std::mem::replace(&mut *state, State::Busy) {
            State::Idle(number) => self.places.idle().remove(number),
            State::Busy | State::Ended => None,
        };
        Busy {
            place: Arc::clone(self),
            admitted: idle.map(|idle| idle.admitted),
        }
    }

    /// The connection has ended.
    pub(super) fn end(&self) {
        if let State::Idle(number) = std::mem::replace(&mut *self.state(), State::Ended) {
            self.places.idle().remove(number);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.place.state();
        if let (State::Busy, Some(admitted)) = (&*state, self.admitted.take()) {
            *state = State::Idle(
                self.place
                    .places
                    .idle()
                    .add(admitted, self.place.close.clone()),
            );
            self.place.places.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(most: usize, max_of_one_client: usize) -> Arc<Places> {
        Places::new(Admission::new(most, max_of_one_client, Vec::new()))
    }

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn is_lost(place: &Place) -> bool {
        place.close.is_cancelled()
    }

    #[test]
    fn the_longest_idle_connection_is_closed_and_a_busy_one_is_not() {
        let places = places(3, 3);
        let (first, second) = (
            places.take(address(1)).unwrap(),
            places.take(address(2)).unwrap(),
        );
        let third = places.take(address(3)).unwrap();
        // The first was used after the others connected.
        drop(first.busy());
        let request = second.busy();
        let fourth = places.take(address(4)).unwrap();
        assert!(is_lost(&third) && !is_lost(&first) && !is_lost(&second));
        let _fifth = places.take(address(5)).unwrap();
        assert!(is_lost(&first) && !is_lost(&fourth));
        drop(request);
        let _requests = (fourth.busy(), _fifth.busy());
        let _sixth = places.take(address(6)).unwrap();
        assert!(is_lost(&second));
    }

    #[test]
    fn a_client_at_its_limit_loses_its_own_connections() {
        let places = places(3, 2);
        let other = places.take(address(1)).unwrap();
        let (first, second) = (
            places.take(address(2)).unwrap(),
            places.take(address(2)).unwrap(),
        );
        let third = places.take(address(2)).unwrap();
        assert!(is_lost(&first) && !is_lost(&other) && !is_lost(&second));
        let _requests = (second.busy(), third.busy());
        assert!(matches!(places.take(address(2)), Err(Full::Client)));
        let _request = other.busy();
        assert!(matches!(places.take(address(3)), Err(Full::All)));
    }

    #[test]
    fn a_closed_connection_frees_its_slot_once() {
        let places = places(1, 1);
        for _ in 0..3 {
            let place = places.take(address(1)).unwrap();
            let request = place.busy();
            place.end();
            drop(request);
            place.end();
        }
        let lost = places.take(address(1)).unwrap();
        let place = places.take(address(1)).unwrap();
        // A request that arrived at the same time as the loss of the place.
        drop(lost.busy());
        lost.end();
        assert!(!place.close.is_cancelled() && place.is_idle());
        assert_eq!(places.idle().by_age.len(), 1);
    }
}
