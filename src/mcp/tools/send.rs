//! Sends a message from an inbox, and reads the result.

use restante_api::SendAccepted;

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::input::{self, given};
use crate::mcp::output::Foreign;
use crate::model::{OutgoingId, OutgoingStatus};
use crate::service::Draft;
use crate::wire;

impl CallersTools {
    pub(super) async fn send_message(&self, input: input::Send) -> Result<Answer, ToolError> {
        let inbox = self.inbox(&input.inbox).await?;
        let place = self.service.begin_send(&self.caller).await?;
        let draft = Draft::new(
            &input.to,
            input.subject,
            input.text,
            input.html,
            given(input.in_reply_to),
        )?;
        let to = draft.to.to_string();
        let id = self
            .service
            .send(place, &self.caller, &inbox, draft)
            .await?;
        let text = format!(
            "Accepted: the message {id} to {to} is stored. An inbox of this installation has it already; any other \
             address gets it over SMTP. Call get_outgoing with this id for the result. If it cannot be delivered, the \
             inbox {} receives a bounce.",
            inbox.id
        );
        let status = OutgoingStatus::Queued.as_str().to_owned();
        Answer::new(
            text,
            &SendAccepted {
                id: id.to_string(),
                status,
            },
        )
    }

    pub(super) async fn get_outgoing(
        &self,
        input: input::GetOutgoing,
    ) -> Result<Answer, ToolError> {
        let id = OutgoingId::parse(&input.id).map_err(|_| ToolError::OutgoingNotFound)?;
        let found = self.service.outbox().own(self.caller.project, id).await?;
        let (item, attempts) = found.ok_or(ToolError::OutgoingNotFound)?;
        let outgoing = wire::outgoing(item, attempts);
        let about = format!("The outgoing message {id} is {}.", outgoing.status);
        Answer::of_fields(&about, &Foreign::from(outgoing))
    }
}
