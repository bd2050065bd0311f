//! The memory budget of HTTP requests and their responses: request bodies, messages read from the database, and
//! responses that are not sent yet. SMTP has a separate budget.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a request waits for memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Not enough memory became free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory for requests and responses")]
pub struct Exhausted;

/// The budget. Cheap to clone; clones share the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    free: Arc<Semaphore>,
    bytes: usize,
}

/// A reservation in the budget. The memory is freed when its last clone is dropped.
#[derive(Clone, Debug, Default)]
pub struct Room(Option<Arc<OwnedSemaphorePermit>>);

/// Bytes and their reservation.
struct HeldBytes {
    bytes: Vec<u8>,
    _room: Room,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        // The size of one reservation is a u32.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX) as usize;
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(bytes)), bytes }
    }

    /// Reserves this many bytes, and waits for them in the order of the calls. A request for more than the budget gets
    /// all of it.
    ///
    /// # Errors
    /// [`Exhausted`] after ten seconds.
    pub async fn take(&self, bytes: u64) -> Result<Room, Exhausted> {
        let wanted = u32::try_from(bytes.min(self.bytes as u64)).unwrap_or(u32::MAX);
        let permit = timeout(PATIENCE, Arc::clone(&self.free).acquire_many_owned(wanted)).await;
        // The semaphore is never closed.
        let permit = permit.map_err(|_| Exhausted)?.map_err(|_| Exhausted)?;
        Ok(Room(Some(Arc::new(permit))))
    }

    /// How many bytes are free.
    #[must_use]
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }
}

impl Room {
    /// Reduces the reservation to this many bytes. A reservation that was cloned is not changed.
    pub fn shrink(&mut self, bytes: usize) {
        let Some(permit) = self.0.as_mut().and_then(Arc::get_mut) else { return };
        drop(permit.split(permit.num_permits().saturating_sub(bytes)));
    }

    /// Returns `bytes` together with the reservation, which lasts until the last piece of them is dropped.
    #[must_use]
    pub fn hold(self, bytes: Vec<u8>) -> Bytes {
        match self.0 {
            Some(_) => Bytes::from_owner(HeldBytes { bytes, _room: self }),
            None => bytes.into(),
        }
    }
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn past_the_budget_a_request_waits_and_gives_up_after_a_while() {
        let budget = Budget::new(100);
        let room = budget.take(80).await.unwrap();
        assert_eq!(budget.take(30).await.unwrap_err(), Exhausted);
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.take(30).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(room);
        assert!(waiting.await.unwrap());
        assert_eq!(budget.free(), 100);
    }

    #[tokio::test]
    async fn what_is_larger_than_the_budget_takes_all_of_it() {
        let budget = Budget::new(100);
        let mut room = budget.take(1_000).await.unwrap();
        assert_eq!(budget.free(), 0);
        room.shrink(40);
        assert_eq!(budget.free(), 60);
        drop(room);
        assert_eq!(budget.free(), 100);
    }

    #[tokio::test]
    async fn room_is_held_as_long_as_the_last_piece_of_an_answer() {
        let budget = Budget::new(100);
        let mut answer = budget.take(10).await.unwrap().hold(b"0123456789".to_vec());
        let piece = answer.split_off(5);
        drop(answer);
        assert_eq!(budget.free(), 90);
        drop(piece);
        assert_eq!(budget.free(), 100);
    }
}
