//! Waits for a message. If none comes, the answer explains why: for a test that is a finding, not a failure of the
//! tool.

use std::time::Duration;

use super::messages::Shown;
use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, output, text};
use crate::model::Inbox;
use crate::service::{Caller, MessageFilter, ServiceError};
use crate::store::StoredMessage;

/// The longest wait, which is the API's.
const LONGEST_WAIT: u64 = 120;
/// How long a wait that was refused because of others pauses at least, and at most.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Tools {
    pub(super) async fn wait_for_message(&self, caller: &Caller, input: input::Wait) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        if input.timeout_seconds > LONGEST_WAIT {
            return Err(ToolError::InvalidField("timeout_seconds"));
        }
        let filter = input.filter.resolve()?;
        let timeout = Duration::from_secs(input.timeout_seconds);
        match self.wait(caller, &inbox, &filter, timeout).await {
            Ok(message) => {
                let message = message.load().await?.ok_or(ServiceError::MessageNotFound)?;
                let message = self.message_view(caller, message, Shown::default()).await?;
                let text = text::message(&message, 0);
                Answer::new(text, &output::Waited { found: true, message: Some(message), explanation: None })
            }
            Err(ServiceError::Timeout | ServiceError::NoMatchingMessage) => {
                let explanation = self.explanation(caller, inbox.id.as_str(), &filter).await?;
                let text = format!(
                    "No such message came within {} s.\n{}",
                    input.timeout_seconds,
                    text::explanation(&explanation)
                );
                Answer::new(text, &output::Waited { found: false, message: None, explanation: Some(explanation) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A wait that is refused because the key has too many open looks again until its time is up. Each attempt looks
    /// before it is refused, so no message is missed.
    async fn wait(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
    ) -> Result<StoredMessage, ServiceError> {
        let clock = self.service.clock();
        let started = clock.instant();
        loop {
            let waited = clock.instant().since(started);
            let left = timeout.saturating_sub(waited);
            match self.service.wait(caller, inbox, filter, left).await {
                Err(ServiceError::TooManyWaits) if !left.is_zero() => clock.sleep(pause(waited).min(left)).await,
                ended => return ended,
            }
        }
    }
}

/// A tenth of the time waited so far, so that the answer is late by no more than that; jittered, so that parallel calls
/// do not come at once.
fn pause(waited: Duration) -> Duration {
    (waited / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE).mul_f64(rand::random_range(0.5..1.0))
}
