//! The memory budget of HTTP requests and their responses: request bodies, messages read from the
//! database, and responses that are not sent yet. SMTP has a separate budget.
//!
//! A request reserves once, for all that it will hold, before it reads. Only [`Budget::reserve`]
//! waits, and nothing below the service has a budget, so no request waits for memory that it holds
//! itself. Each holder (an API key, the credential of a dashboard session, or the network of a
//! client that sends without a key) has its own share and its own queue, so holders do not wait for
//! each other's queues.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex as Queue, Notify};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

/// Up to this many bytes are not counted. The limit on connections limits the number of such
/// requests.
pub const UNCOUNTED: usize = 64 * 1024;
/// How long a request waits for memory.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The hash of an API key or of another credential, or the network of a client that has none.
pub type Holder = [u8; 32];

/// Why there is no memory for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMemory {
    /// Not enough became free in time.
    #[error("out of memory for requests and responses")]
    InTime,
    /// The request needs more than the share of one holder.
    #[error("this needs {needed} MiB of memory, but one key may use {share} MiB")]
    Ever {
        /// What the request needs, in MiB.
        needed: usize,
        /// The share of one holder, in MiB.
        share: usize,
    },
}

/// The budget. Cheap to clone; clones share the same budget.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bytes: usize,
    state: Mutex<State>,
    /// Wakes the first request of each queue when memory becomes free.
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    holders: HashMap<Holder, Held>,
}

/// What one holder has reserved, and the queue of its next requests.
#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    queue: Arc<Queue<()>>,
}

/// A reservation in the budget, or nothing for what is not counted. The memory is freed when its
/// last clone is dropped.
#[derive(Clone, Debug, Default)]
pub struct Room(Option<Arc<Reserved>>);

#[derive(Debug)]
struct Reserved {
    budget: Budget,
    holder: Holder,
    bytes: usize,
}

/// A request in the queue of its holder. Dropping it, for example after the timeout, leaves the
/// queue.
struct Waiting<'a> {
    budget: &'a Budget,
    holder: Holder,
    queue: Arc<Queue<()>>,
}

/// Bytes and their reservation.
struct HeldBytes {
    bytes: Vec<u8>,
    _room: Room,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self(Arc::new(Inner {
            bytes,
            state: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Reserves this many bytes, and waits for them after the earlier requests of the same holder.
    /// Up to [`UNCOUNTED`] bytes need no reservation.
    ///
    /// # Errors
    /// [`NoMemory::Ever`] immediately for more than the share of one holder, [`NoMemory::InTime`]
    /// after ten seconds.
    pub async fn reserve(&self, holder: Holder, bytes: usize) -> Result<Room, NoMemory> {
        if bytes <= UNCOUNTED {
            return Ok(Room::default());
        }
        if bytes > self.share() {
            const MIB: usize = 1024 * 1024;
            return Err(NoMemory::Ever {
                needed: bytes.div_ceil(MIB),
                share: self.share() / MIB,
            });
        }
        timeout(MEMORY_TIMEOUT, self.take(holder, bytes))
            .await
            .map_err(|_| NoMemory::InTime)
    }

    async fn take(&self, holder: Holder, bytes: usize) -> Room {
        let waiting = Waiting::new(self, holder);
        let _first = waiting.queue.lock().await;
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // Registered before the check, so that memory that becomes free in between is noticed.
            freed.as_mut().enable();
            if let Some(room) = self.try_take(holder, bytes) {
                return room;
            }
            freed.await;
        }
    }

    fn try_take(&self, holder: Holder, bytes: usize) -> Option<Room> {
        let is_free = self.take_now(&holder, bytes);
        is_free.then(|| {
            Room(Some(Arc::new(Reserved {
                budget: self.clone(),
                holder,
                bytes,
            })))
        })
    }

    /// Counts these bytes as reserved, if they are free. The holder is in the queue or has a
    /// reservation.
    fn take_now(&self, holder: &Holder, bytes: usize) -> bool {
        let mut state = self.state();
        let State { used, holders } = &mut *state;
        let held = holders.entry(*holder).or_default();
        let is_free = self.fits(*used, held.bytes, bytes);
        if is_free {
            *used += bytes;
            held.bytes += bytes;
        }
        is_free
    }

    /// Whether a holder with `held` bytes may reserve `more`. The last eighth of the budget is only
    /// for holders with little, so that two holders with large requests leave memory for the
    /// others.
    fn fits(&self, used: usize, held: usize, more: usize) -> bool {
        let (all, holds) = (self.0.bytes, held + more);
        let available = if holds <= all / 64 { all } else { all / 8 * 7 };
        holds <= self.share() && used + more <= available
    }

    /// The maximum number of bytes of one holder.
    #[must_use]
    pub fn share(&self) -> usize {
        self.0.bytes / 2
    }

    /// How many bytes are free.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.bytes - self.state().used
    }

    fn give_back(&self, holder: &Holder, bytes: usize) {
        let mut state = self.state();
        state.used -= bytes;
        if let Some(held) = state.holders.get_mut(holder) {
            held.bytes -= bytes;
        }
        state.forget_idle(holder);
        drop(state);
        self.0.freed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets a holder that has reserved nothing and has no request in its queue.
    fn forget_idle(&mut self, holder: &Holder) {
        let is_idle = |held: &Held| held.bytes == 0 && Arc::strong_count(&held.queue) == 1;
        if self.holders.get(holder).is_some_and(is_idle) {
            self.holders.remove(holder);
        }
    }
}

impl<'a> Waiting<'a> {
    fn new(budget: &'a Budget, holder: Holder) -> Self {
        let queue = Arc::clone(&budget.state().holders.entry(holder).or_default().queue);
        Self {
            budget,
            holder,
            queue,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        // Under the lock, so that of two requests that stop waiting at the same time the last one
        // is alone.
        self.queue = Arc::default();
        state.forget_idle(&self.holder);
    }
}

impl Room {
    /// Reserves more for the same holder, if that is free now. It never waits, because what it has
    /// would be missing to those that it waits for. A reservation that was cloned does not grow.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let Some(reserved) = self.0.as_mut().and_then(Arc::get_mut) else {
            return false;
        };
        let is_free = reserved.budget.take_now(&reserved.holder, bytes);
        reserved.bytes += if is_free { bytes } else { 0 };
        is_free
    }

    /// Reduces the reservation to this many bytes. A reservation that was cloned is not changed.
    pub fn shrink(&mut self, bytes: usize) {
        let Some(reserved) = self.0.as_mut().and_then(Arc::get_mut) else {
            return;
        };
        let rest = reserved.bytes.saturating_sub(bytes);
        reserved.bytes -= rest;
        reserved.budget.give_back(&reserved.holder, rest);
    }

    /// Whether something is reserved.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.0.is_some()
    }

    /// Runs `work` on a blocking thread. The thread keeps the reservation, even if the caller is
    /// dropped.
    ///
    /// # Errors
    /// If `work` panics or the runtime stops.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Self), JoinError> {
        spawn_blocking(move || (work(), self)).await
    }

    /// Returns `bytes` together with the reservation, which lasts until the last piece of them is
    /// dropped.
    #[must_use]
    pub fn hold(self, bytes: Vec<u8>) -> Bytes {
        match self.0 {
            Some(_) => Bytes::from_owner(HeldBytes { bytes, _room: self }),
            None => bytes.into(),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.give_back(&self.holder, self.bytes);
    }
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const MIB: usize = 1024 * 1024;
    const A: Holder = [1; 32];
    const B: Holder = [2; 32];
    const C: Holder = [3; 32];

    fn budget() -> Budget {
        Budget::new(64 * MIB as u64)
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_over_its_share_waits_until_the_timeout() {
        let budget = budget();
        let room = budget.reserve(A, budget.share()).await.unwrap();
        let start = tokio::time::Instant::now();
        assert_eq!(budget.reserve(A, MIB).await.unwrap_err(), NoMemory::InTime);
        assert_eq!(start.elapsed(), MEMORY_TIMEOUT);
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(A, MIB).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(room);
        assert!(waiting.await.unwrap());
        assert_eq!(budget.free(), 64 * MIB);
        assert!(budget.state().holders.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_without_memory_is_forgotten_when_its_last_request_stops_waiting() {
        let budget = budget();
        let rooms = [
            budget.reserve(A, 32 * MIB).await.unwrap(),
            budget.reserve(B, 24 * MIB).await.unwrap(),
        ];
        let both =
            futures_util::future::join(budget.reserve(C, 2 * MIB), budget.reserve(C, 2 * MIB))
                .await;
        assert_eq!(
            (both.0.unwrap_err(), both.1.unwrap_err()),
            (NoMemory::InTime, NoMemory::InTime)
        );
        assert!(!budget.state().holders.contains_key(&C));
        // One that stops waiting after its holder has given everything back.
        let [room, _other] = rooms;
        let mut waiting = Box::pin(budget.reserve(A, 32 * MIB));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(room);
        drop(waiting);
        assert!(budget.state().holders.keys().eq([&B]));
    }

    #[tokio::test]
    async fn a_large_request_of_one_holder_delays_no_other_holder() {
        let budget = budget();
        let _all = budget.reserve(A, budget.share()).await.unwrap();
        let mut large = pin!(budget.reserve(A, 30 * MIB));
        assert!(large.as_mut().now_or_never().is_none());
        // Within the holder the order is kept; for others there is memory.
        assert!(budget.reserve(A, UNCOUNTED + 1).now_or_never().is_none());
        assert!(budget.reserve(A, UNCOUNTED).now_or_never().is_some());
        let _theirs = budget.reserve(B, 24 * MIB).now_or_never().unwrap().unwrap();
        // Two holders take seven eighths at most, so a third finds memory for a stream.
        assert!(budget.reserve(B, MIB).now_or_never().is_none());
        assert!(budget.reserve(C, MIB).now_or_never().unwrap().is_ok());
        assert!(budget.reserve(C, 2 * MIB).now_or_never().is_none());
    }

    #[tokio::test]
    async fn what_can_never_fit_is_refused_immediately() {
        let refused = budget()
            .reserve(A, 32 * MIB + 1)
            .now_or_never()
            .unwrap()
            .unwrap_err();
        assert_eq!(
            refused,
            NoMemory::Ever {
                needed: 33,
                share: 32
            }
        );
    }

    #[tokio::test]
    async fn a_reservation_shrinks_and_its_first_waiter_gets_the_rest() {
        let budget = budget();
        let mut room = budget.reserve(A, 32 * MIB).await.unwrap();
        let mut waiting = pin!(budget.reserve(A, 20 * MIB));
        assert!(waiting.as_mut().now_or_never().is_none());
        room.shrink(12 * MIB);
        assert!(waiting.as_mut().now_or_never().unwrap().is_ok());
        assert_eq!(budget.free(), 52 * MIB);
        drop(room);
        assert_eq!(budget.free(), 64 * MIB);
    }

    #[tokio::test]
    async fn a_reservation_grows_only_by_what_is_free_now() {
        let budget = budget();
        let mut room = budget.reserve(A, 20 * MIB).await.unwrap();
        assert!(!room.grow(13 * MIB) && room.grow(12 * MIB));
        assert_eq!(budget.free(), 32 * MIB);
        let copy = room.clone();
        assert!(!room.grow(1) && !Room::default().grow(1));
        drop((room, copy));
        assert_eq!(budget.free(), 64 * MIB);
    }

    #[tokio::test]
    async fn room_is_held_as_long_as_the_last_piece_of_an_answer() {
        let budget = budget();
        let mut answer = budget
            .reserve(A, MIB)
            .await
            .unwrap()
            .hold(b"0123456789".to_vec());
        let piece = answer.split_off(5);
        drop(answer);
        assert_eq!(budget.free(), 63 * MIB);
        drop(piece);
        assert_eq!(budget.free(), 64 * MIB);
    }

    #[tokio::test]
    async fn work_keeps_its_reservation_after_its_caller_has_left() {
        let budget = budget();
        let room = budget.reserve(A, MIB).await.unwrap();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let mut work = Box::pin(room.run(move || receiver.recv()));
        assert!(work.as_mut().now_or_never().is_none());
        drop(work);
        assert_eq!(budget.free(), 63 * MIB);
        drop(sender);
        while budget.free() < 64 * MIB {
            tokio::task::yield_now().await;
        }
    }
}
