//! The time and the memory of one message that is being received.

use std::sync::Arc;
use std::time::Duration;

use restante_smtp::Progress;
use tokio::sync::OwnedSemaphorePermit;

use super::context::Context;
use super::memory::{MessageMemory, SMALL_MESSAGE};
use crate::clock::{Clock, Instant};

/// How often the speed of a large message is checked.
const PACE_INTERVAL: Duration = Duration::from_secs(10);
/// The bytes that must arrive in that interval while other messages wait for memory.
const PACE_BYTES: u64 = 64 * 1024;

/// A message between DATA and its end.
pub(super) struct Arrival {
    memory: Arc<MessageMemory>,
    permit: Option<OwnedSemaphorePermit>,
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
            permit: None,
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
        self.discarded = progress.received > 0 && progress.memory == 0;
        if self.discarded {
            self.permit = None;
        }
    }

    /// Waits for memory for the message. Returns whether it may now grow to any size.
    pub(super) async fn make_room(&mut self, clock: &Clock) -> bool {
        if self.room() > 0 {
            return false;
        }
        self.permit = self.memory.whole_message().await;
        // The client did not cause this delay.
        self.restart_pace(clock.instant());
        true
    }

    /// How many bytes may be read.
    pub(super) fn room(&self) -> usize {
        if self.discarded || self.permit.is_some() {
            return usize::MAX;
        }
        usize::try_from(SMALL_MESSAGE.saturating_sub(self.received)).unwrap_or(usize::MAX)
    }

    /// When the message must be complete.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When to check the time again.
    pub(super) fn due(&self) -> Instant {
        if self.permit.is_some() {
            self.deadline.min(self.pace_due())
        } else {
            self.deadline
        }
    }

    /// Whether the message takes too long, or is too slow while other messages wait for memory that
    /// it uses.
    pub(super) fn is_time_up(&mut self, now: Instant) -> bool {
        if now < self.pace_due() || self.permit.is_none() {
            return now >= self.deadline;
        }
        let slow = self.received - self.pace_received < PACE_BYTES;
        self.restart_pace(now);
        now >= self.deadline || (slow && self.memory.is_short())
    }

    /// Returns the permit that the message has.
    pub(super) fn into_permit(self) -> Option<OwnedSemaphorePermit> {
        self.permit
    }

    fn pace_due(&self) -> Instant {
        self.pace_from.after(PACE_INTERVAL)
    }

    fn restart_pace(&mut self, now: Instant) {
        (self.pace_from, self.pace_received) = (now, self.received);
    }
}
