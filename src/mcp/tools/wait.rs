//! Waits for a message. If none arrives, the result explains why, because for a test this is
//! information and not a failure of the tool.

use std::time::Duration;

use uuid::Uuid;

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, output, text};
use crate::model::{Inbox, MessageFilter};
use crate::service::{Asked, ServiceError, StoredMessage, pause_before_retry};

impl CallersTools {
    pub(super) async fn wait_for_message(&self, input: input::Wait) -> Result<Answer, ToolError> {
        let inbox = self.inbox(&input.inbox).await?;
        let filter = input.filter.resolve()?;
        let timeout = Duration::from_secs(input.timeout_seconds);
        match self.wait(&inbox, &filter, timeout).await {
            Ok(message) => {
                let start = input::GetMessage::start_of(message.head.id.to_string());
                let message = self.message_view(start).await?;
                let text = text::message(&message.content, 0);
                Answer::new(
                    text,
                    &output::Waited {
                        found: true,
                        message: Some(message),
                        explanation: None,
                        page: None,
                    },
                )
            }
            Err(ServiceError::Timeout { story }) => {
                self.timed_out(&inbox, &filter, timeout, story).await
            }
            Err(ServiceError::NoMatchingMessage) => {
                self.timed_out(&inbox, &filter, timeout, None).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn timed_out(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
        story: Option<Uuid>,
    ) -> Result<Answer, ToolError> {
        let (why, explanation) = self.explanation(inbox.id.as_str(), filter).await?;
        let page = story.map(|id| format!("{}/failures/{id}", self.addresses.base_url));
        let seconds = timeout.as_secs();
        let mut text = format!("No such message arrived within {seconds} s.\n{why}");
        page.iter()
            .for_each(|page| text.push_str(&format!("\nFor people: {page}")));
        Answer::new(
            text,
            &output::Waited {
                found: false,
                message: None,
                explanation: Some(explanation),
                page,
            },
        )
    }

    /// Waits for a message. If the key has too many open waits, this retries until its time is up.
    /// Each attempt reads the store before it is rejected, so no message is missed.
    async fn wait(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
    ) -> Result<StoredMessage, ServiceError> {
        let clock = self.service.clock();
        let started = clock.instant();
        let name = Uuid::now_v7().to_string();
        loop {
            let waited = clock.instant().since(started);
            let left = timeout.saturating_sub(waited);
            let asked = Asked {
                name: Some(&name),
                ..Asked::once(filter, left)
            };
            match self.service.wait(&self.caller, inbox, asked).await {
                Err(ServiceError::TooManyWaits) if !left.is_zero() => {
                    clock.sleep(pause_before_retry(waited).min(left)).await;
                }
                ended => return ended,
            }
        }
    }
}
