//! Limits the memory for the messages of all sessions. A small message needs nothing. A larger one
//! needs a permit, which is for a whole message; if none is free, the session waits, and its socket
//! is not read.
//!
//! No session waits forever: one with a permit waits only for its client and for the store. Both
//! have time limits. A slow client cannot keep a permit for long either: while none is free
//! ([`MessageMemory::is_short`]), a session that receives too little is ended.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::config::Limits;

/// A message up to this size, in bytes, needs no permit.
pub(super) const SMALL_MESSAGE: u64 = 64 * 1024;
/// A message up to this size, in bytes, is parsed without waiting for others.
const SMALL_DELIVERY: usize = 256 * 1024;
/// How many larger messages are parsed at the same time.
const MAX_PARSED: usize = 2;

pub(super) struct MessageMemory {
    whole: Arc<Semaphore>,
    parsing: Semaphore,
}

impl MessageMemory {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let messages = limits.message_memory / limits.message_size.max(1);
        let messages = usize::try_from(messages).unwrap_or(usize::MAX);
        Arc::new(Self {
            whole: Arc::new(Semaphore::new(messages.clamp(1, Semaphore::MAX_PERMITS))),
            parsing: Semaphore::new(MAX_PARSED),
        })
    }

    /// Waits for the permit for a whole message. If the future is dropped, the session leaves the
    /// queue.
    pub(super) async fn whole_message(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.whole).acquire_owned().await.ok()
    }

    /// Whether another large message would have to wait.
    pub(super) fn is_short(&self) -> bool {
        self.whole.available_permits() == 0
    }

    /// Waits until a message of `bytes` may be parsed. The caller keeps the permit until the
    /// message is parsed.
    pub(super) async fn parsing(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        if bytes <= SMALL_DELIVERY {
            return None;
        }
        self.parsing.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::config::MIB;

    #[test]
    fn a_message_waits_if_the_memory_is_not_enough_for_another() {
        for (message_memory, permits) in [(0, 1), (MIB, 1), (4 * MIB - 1, 3), (u64::MAX, 10)] {
            let memory = MessageMemory::new(&Limits {
                message_size: MIB,
                message_memory,
                ..Limits::default()
            });
            let mut held: Vec<_> = (0..permits)
                .map(|_| memory.whole_message().now_or_never().unwrap())
                .collect();
            let is_short = message_memory < u64::MAX;
            assert_eq!(memory.is_short(), is_short, "{message_memory}");
            assert_eq!(memory.whole_message().now_or_never().is_none(), is_short);
            held.pop();
            assert!(memory.whole_message().now_or_never().is_some());
        }
    }

    #[test]
    fn large_messages_are_parsed_in_turns_and_small_ones_are_not() {
        let memory = MessageMemory::new(&Limits::default());
        let parse = |bytes| memory.parsing(bytes).now_or_never();
        let mut held = [parse(usize::MAX), parse(usize::MAX)];
        assert!(held.iter().all(Option::is_some));
        assert!(parse(SMALL_DELIVERY + 1).is_none() && parse(SMALL_DELIVERY).is_some());
        held[0] = None;
        assert!(parse(SMALL_DELIVERY + 1).is_some());
    }
}
