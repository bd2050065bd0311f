//! The time and the memory of one message that is being received.

use std::sync::Arc;
use std::time::Duration;

use restante_smtp::Progress;

use super::context::Context;
use super::memory::{MessageMemory, Share};
use crate::clock::{Clock, Instant};

/// How often the speed of a large message is checked.
const PACE_INTERVAL: Duration = Duration::from_secs(10);
/// The bytes that must arrive in that interval while other messages wait for memory.
const PACE_BYTES: u64 = 64 * 1024;

/// A message between DATA and its end.
pub(super) struct Arrival {
    memory: Arc<MessageMemory>,
    share: Share,
    received: u64,
    /// The message will be rejected, so its remaining bytes are not kept.
    discarded: bool,
    deadline: Instant,
    pace_from: Instant,
    pace_received: u64,
}

impl Arrival {
    pub(super) fn start(context: &Context) -> Self {
        let now = context.service.clock().instant();
        Self {
            memory: Arc::clone(&context.memory),
            share: context.memory.share(),
            received: 0,
            discarded: false,
            deadline: now.after(context.limits.message_timeout),
            pace_from: now,
            pace_received: 0,
        }
    }

    /// Updates this with the progress of the message.
    pub(super) fn follow(&mut self, progress: Progress) {
        self.received = progress.received;
        let discarded = progress.received > 0 && progress.memory == 0;
        if discarded && !self.discarded {
            self.share = self.memory.share();
        }
        self.discarded = discarded;
    }

    /// Waits for memory for the message. Returns whether it may now grow to any size.
    pub(super) async fn make_room(&mut self, clock: &Clock) -> bool {
        if self.room() > 0 {
            return false;
        }
        self.share.cover(self.received + 1).await;
        // The client did not cause this delay.
        self.restart_pace(clock.instant());
        self.share.has_seat()
    }

    /// How many bytes may be read.
    pub(super) fn room(&self) -> usize {
        let room = if self.discarded {
            u64::MAX
        } else {
            self.share.covered().saturating_sub(self.received)
        };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// When the message must be complete.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When to check the time again.
    pub(super) fn due(&self) -> Instant {
        if self.share.is_large() {
            self.deadline.min(self.pace_due())
        } else {
            self.deadline
        }
    }

    /// Whether the message takes too long, or is too slow while other messages wait for memory that
    /// it uses.
    pub(super) fn is_time_up(&mut self, now: Instant) -> bool {
        if now < self.pace_due() || !self.share.is_large() {
            return now >= self.deadline;
        }
        let slow = self.received - self.pace_received < PACE_BYTES;
        self.restart_pace(now);
        now >= self.deadline || (slow && self.memory.is_short())
    }

    /// Returns the memory that the message uses.
    pub(super) fn into_share(self) -> Share {
        self.share
    }

    fn pace_due(&self) -> Instant {
        self.pace_from.after(PACE_INTERVAL)
    }

    fn restart_pace(&mut self, now: Instant) {
        (self.pace_from, self.pace_received) = (now, self.received);
    }
}
