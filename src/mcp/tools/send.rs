//! Sends a message from an inbox.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::input::{self, given};
use crate::mcp::output;
use crate::model::OutgoingStatus;
use crate::service::{Caller, Draft};

impl Tools {
    pub(super) async fn send_message(&self, caller: &Caller, input: input::Send) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        let place = self.service.begin_send(caller).await?;
        let draft = Draft::new(&input.to, input.subject, input.text, input.html, given(input.in_reply_to))?;
        let to = draft.to.to_string();
        let id = self.service.send(place, caller, &inbox, draft).await?;
        let outcome_url = format!("{}/v1/outgoing/{id}", self.installation.base_url);
        let text = format!(
            "Accepted: the message {id} to {to} is stored. An inbox of this installation has it already; any other \
             address gets it over SMTP. {outcome_url} says how it went. If it cannot be delivered, the inbox {} \
             receives a bounce.",
            inbox.id
        );
        let status = OutgoingStatus::Queued.as_str().to_owned();
        Answer::new(text, &output::Accepted { id: id.to_string(), status, outcome_url })
    }
}
