//! Limits the memory for the messages of all sessions. A session reserves memory before it reads.
//! If none is free, it waits, and its socket is not read.
//!
//! The budget has three parts:
//!
//! - *Own*: each possible connection has memory for the first bytes of a message. A small message
//!   never waits.
//! - *Pool*: shared by all connections; a growing message reserves from it in steps, in the order
//!   of the requests.
//! - *Seats*: each is memory for a whole message. If the pool is empty, a session waits for the
//!   pool or for a seat. A session with a seat does not wait for memory again until its message is
//!   complete.
//!
//! No session waits forever: a waiting session has no seat. A session with a seat waits only for
//! its client and for the store. Both have time limits, and then the next session gets the seat. A
//! slow client cannot keep a seat for long either: while others wait ([`MessageMemory::is_short`]),
//! a session that receives too little is ended.
//!
//! Parsing also needs memory, for the parts and the compressed copy. The total size of all large
//! messages that are parsed at the same time is at most the size of the largest allowed message
//! ([`MessageMemory::workspace`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

/// Maximum number of bytes of each connection's own memory.
const MAX_OWN_BYTES: u64 = 16 * 1024;
/// The bytes that a growing message reserves from the pool at once.
const STEP: u32 = 64 * 1024;
/// A message up to this size, in bytes, is parsed without reserving memory for it.
const SMALL_DELIVERY: usize = 256 * 1024;

/// The budget.
pub(super) struct MessageMemory {
    own: u64,
    pool: Arc<Semaphore>,
    seats: Arc<Semaphore>,
    workspace: Arc<Semaphore>,
    workspace_bytes: u32,
    waiting: AtomicUsize,
}

impl MessageMemory {
    /// Splits the budget: at most a quarter for the connections' own memory, then half of the rest
    /// for the seats, and the remainder for the pool. There is always one seat, because a large
    /// message needs one.
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let connections = limits.smtp_connections.max(1) as u64;
        let own = MAX_OWN_BYTES.min(limits.message_memory / 4 / connections);
        let seats = (limits.message_memory / 2 / limits.message_size.max(1)).max(1);
        let set_aside = own
            .saturating_mul(connections)
            .saturating_add(seats.saturating_mul(limits.message_size));
        let pool = limits.message_memory.saturating_sub(set_aside);
        let workspace_bytes = u32::try_from(limits.message_size).unwrap_or(u32::MAX);
        Arc::new(Self {
            own,
            pool: Arc::new(semaphore(pool)),
            seats: Arc::new(semaphore(seats)),
            workspace: Arc::new(semaphore(workspace_bytes.into())),
            workspace_bytes,
            waiting: AtomicUsize::new(0),
        })
    }

    /// Creates the share of a new session.
    pub(super) fn share(self: &Arc<Self>) -> Share {
        Share {
            memory: Arc::clone(self),
            covered: self.own,
            pooled: None,
            seat: None,
        }
    }

    /// Whether a session is waiting for memory.
    pub(super) fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits until a message of `bytes` may be parsed. The caller keeps the permit until the
    /// message is parsed.
    pub(super) async fn workspace(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= SMALL_DELIVERY {
            return None;
        }
        let wanted = u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .min(self.workspace_bytes);
        // The semaphore is never closed.
        Arc::clone(&self.workspace)
            .acquire_many_owned(wanted)
            .await
            .ok()
    }
}

/// A tokio semaphore has a maximum number of permits; a larger budget is unlimited in practice.
fn semaphore(permits: u64) -> Semaphore {
    Semaphore::new(
        usize::try_from(permits)
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS),
    )
}

/// The memory that one session has reserved; dropping this frees it.
pub(super) struct Share {
    memory: Arc<MessageMemory>,
    covered: u64,
    pooled: Option<OwnedSemaphorePermit>,
    seat: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Waits until the session may use `bytes`. If the future is dropped, the session leaves the
    /// queue.
    pub(super) async fn cover(&mut self, bytes: u64) {
        while self.covered() < bytes {
            self.grow().await;
        }
    }

    /// How many bytes the session may use; unlimited with a seat.
    pub(super) fn covered(&self) -> u64 {
        if self.has_seat() {
            u64::MAX
        } else {
            self.covered
        }
    }

    /// Whether the session has memory for a whole message.
    pub(super) fn has_seat(&self) -> bool {
        self.seat.is_some()
    }

    /// Whether the session has reserved more than its own memory.
    pub(super) fn is_large(&self) -> bool {
        self.has_seat() || self.pooled.is_some()
    }

    async fn grow(&mut self) {
        let memory = Arc::clone(&self.memory);
        if let Ok(permit) = Arc::clone(&memory.pool).try_acquire_many_owned(STEP) {
            return self.take_from_pool(permit);
        }
        let _waiting = Waiting::start(&memory.waiting);
        // The semaphores are never closed, so acquiring cannot fail.
        tokio::select! {
            biased;
            Ok(permit) = Arc::clone(&memory.pool).acquire_many_owned(STEP) => self.take_from_pool(permit),
            Ok(seat) = Arc::clone(&memory.seats).acquire_owned() => self.seat = Some(seat),
            else => {}
        }
    }

    fn take_from_pool(&mut self, permit: OwnedSemaphorePermit) {
        self.covered += u64::from(STEP);
        match &mut self.pooled {
            Some(pooled) => pooled.merge(permit),
            None => self.pooled = Some(permit),
        }
    }
}

/// Counts a session as waiting until this is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn start(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::config::MIB;

    /// A budget of four messages of 1 MiB: two seats, and a pool of two messages less 16 KiB.
    fn four_messages() -> Arc<MessageMemory> {
        MessageMemory::new(&Limits {
            message_size: MIB,
            message_memory: 4 * MIB,
            smtp_connections: 1,
            ..Limits::default()
        })
    }

    #[test]
    fn the_default_budget_is_spent_to_the_byte_and_not_beyond() {
        let limits = Limits::default();
        let memory = MessageMemory::new(&limits);
        let seats = memory.seats.available_permits() as u64;
        let own = memory.own * limits.smtp_connections as u64;
        assert_eq!(
            own + seats * limits.message_size + memory.pool.available_permits() as u64,
            limits.message_memory
        );
        assert!(seats >= 2 && memory.own >= 8 * 1024);
    }

    #[test]
    fn a_small_message_never_waits() {
        let memory = four_messages();
        let (mut one, mut other, mut third) = (memory.share(), memory.share(), memory.share());
        for share in [&mut one, &mut other, &mut third] {
            share.cover(2 * MIB).now_or_never();
        }
        assert_eq!(memory.share().cover(memory.own).now_or_never(), Some(()));
    }

    #[test]
    fn past_the_budget_a_session_waits_until_another_is_done() {
        let memory = MessageMemory::new(&Limits {
            message_size: MIB,
            message_memory: 2 * MIB,
            smtp_connections: 1,
            ..Limits::default()
        });
        let (mut first, mut second) = (memory.share(), memory.share());
        assert_eq!(first.cover(MIB).now_or_never(), Some(()));
        assert!(first.is_large());
        assert_eq!(second.cover(MIB).now_or_never(), None);
        drop(first);
        assert_eq!(second.cover(MIB).now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn many_large_messages_at_once_are_all_answered() {
        let memory = four_messages();
        let messages = (0..50).map(|_| {
            let memory = Arc::clone(&memory);
            tokio::spawn(async move {
                let mut share = memory.share();
                for bytes in (0..=MIB).step_by(4096) {
                    share.cover(bytes).await;
                    tokio::task::yield_now().await;
                }
            })
        });
        let all = futures_util::future::join_all(messages);
        let ended = tokio::time::timeout(Duration::from_secs(60), all)
            .await
            .expect("a deadlock");
        assert!(ended.into_iter().all(|message| message.is_ok()));
        assert_eq!(memory.seats.available_permits(), 2);
        assert!(!memory.is_short());
    }

    #[tokio::test]
    async fn a_session_that_gives_up_leaves_the_queue() {
        let memory = MessageMemory::new(&Limits {
            message_memory: 0,
            message_size: MIB,
            ..Limits::default()
        });
        let mut seated = memory.share();
        seated.cover(MIB).await;
        let mut waiting = memory.share();
        let gave_up = async {
            tokio::select! {
                () = waiting.cover(MIB) => false,
                () = async { while !memory.is_short() { tokio::task::yield_now().await } } => true,
            }
        };
        assert!(gave_up.await);
        assert!(!memory.is_short());
        drop(seated);
        assert_eq!(memory.share().cover(MIB).now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn large_deliveries_take_turns_and_small_ones_do_not() {
        let memory = four_messages();
        let large = memory.workspace(usize::MAX).await;
        assert!(large.is_some());
        assert!(
            memory
                .workspace(SMALL_DELIVERY + 1)
                .now_or_never()
                .is_none()
        );
        assert!(memory.workspace(SMALL_DELIVERY).now_or_never().is_some());
        drop(large);
        assert!(memory.workspace(usize::MAX).now_or_never().is_some());
    }
}
