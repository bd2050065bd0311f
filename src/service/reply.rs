//! The channel for the answer to a delivery.

use tokio::sync::oneshot;

use super::DeliverError;
use crate::store::Delivered;

/// What became of a delivery, or why it was refused.
pub(super) type Answer = Result<Delivered, DeliverError>;

/// A share of a limit, which a delivery holds until it has ended.
pub(super) type Held = Option<Box<dyn Send>>;

/// Sends an answer, and frees what the delivery held.
pub(super) struct Reply {
    sender: oneshot::Sender<Answer>,
    held: Held,
}

impl Reply {
    /// A reply and where its answer is received.
    pub(super) fn new(held: Held) -> (Self, oneshot::Receiver<Answer>) {
        let (sender, answer) = oneshot::channel();
        (Self { sender, held }, answer)
    }

    /// Whether the caller no longer waits.
    pub(super) fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }

    /// Returns once the caller no longer waits.
    pub(super) async fn abandoned(&mut self) {
        self.sender.closed().await;
    }

    /// A caller that has stopped waiting gets no answer.
    pub(super) fn send(self, answer: Answer) {
        drop(self.held);
        let _ = self.sender.send(answer);
    }
}
