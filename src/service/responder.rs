//! The channel for the result of a delivery.

use restante_delivery::Verdict;
use tokio::sync::oneshot;

use super::DeliverError;

/// What happened to a delivery, or why nothing is known to have happened.
pub(super) type Answer = Result<Verdict, DeliverError>;

/// Something a delivery holds until it has ended, such as memory.
pub(super) type Held = Option<Box<dyn Send>>;

/// Sends the result of a delivery, and frees what the delivery held.
pub(super) struct Responder {
    sender: oneshot::Sender<Answer>,
    held: Held,
}

impl Responder {
    /// Creates a responder and the receiver of its answer.
    pub(super) fn new(held: Held) -> (Self, oneshot::Receiver<Answer>) {
        let (sender, answer) = oneshot::channel();
        (Self { sender, held }, answer)
    }

    /// Whether the caller has stopped waiting.
    pub(super) fn is_abandoned(&self) -> bool {
        self.sender.is_closed()
    }

    /// Returns once the caller has stopped waiting.
    pub(super) async fn abandoned(&mut self) {
        self.sender.closed().await;
    }

    /// Sends the answer, unless the caller has stopped waiting.
    pub(super) fn send(self, answer: Answer) {
        drop(self.held);
        let _ = self.sender.send(answer);
    }
}
