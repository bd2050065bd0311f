//! Injected faults: errors that a test requests for a recipient or a message.

use std::time::Duration;

use super::{Event, Phase, Question, Session};
use crate::reply::{Reply, RequestedReply};

/// A fault that replaces the answer to [`Event::Recipient`] or [`Event::Deliver`], or, for a delay,
/// precedes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The recipient or the message is rejected with this reply.
    Refuse(RequestedReply),
    /// The connection ends without a reply.
    Disconnect(Closing),
    /// The reply is delayed by this time. The answer itself must follow.
    Delay(Duration),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closing {
    /// It is closed.
    #[default]
    Close,
    /// It is reset.
    Reset,
}

impl Session {
    /// Answers [`Event::Recipient`] or [`Event::Deliver`] with a fault. After [`Fault::Delay`] the
    /// answer must follow.
    pub fn fault(&mut self, fault: Fault) {
        let Phase::Waiting(question @ (Question::Recipient(_) | Question::Delivery)) =
            &mut self.phase
        else {
            return;
        };
        match fault {
            Fault::Delay(delay) => self.hold_back(delay),
            Fault::Disconnect(closing) => self.hang_up(closing),
            Fault::Refuse(reply) => {
                let path = match question {
                    Question::Recipient(path) => Some(std::mem::take(path)),
                    _ => None,
                };
                self.refuse_on_request(reply, path.as_deref());
            }
        }
    }

    /// Delays the reply to the event that is being answered. The answer must follow.
    pub fn hold_back(&mut self, delay: Duration) {
        if matches!(self.phase, Phase::Waiting(_)) {
            self.events.push_back(Event::HoldBack(delay));
        }
    }

    fn refuse_on_request(&mut self, reply: RequestedReply, path: Option<&str>) {
        self.phase = if reply.closes() {
            Phase::Closed
        } else {
            Phase::Command
        };
        if path.is_some()
            && let Some(transaction) = &mut self.transaction
        {
            transaction.recipients.pop();
            transaction.refused = true;
        }
        self.refuse(Reply::refused_on_request(reply, path));
    }

    /// Ends the session without a last reply.
    fn hang_up(&mut self, closing: Closing) {
        self.phase = Phase::Closed;
        self.transaction = None;
        self.input.clear();
        if closing == Closing::Reset {
            self.events.push_back(Event::Reset);
        }
    }
}
