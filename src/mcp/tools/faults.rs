//! Injects SMTP faults for an inbox, and reads their uses.

use restante_api::MAX_FAULTS;

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, text};
use crate::model::Fault;
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn get_faults(
        &self,
        caller: &Caller,
        input: input::InboxName,
    ) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        let faults = wire::faults(&self.service.faults(&inbox).await?);
        Answer::new(text::faults(&faults, inbox.id.as_str()), &faults)
    }

    pub(super) async fn set_faults(
        &self,
        caller: &Caller,
        input: input::SetFaults,
    ) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        if input.faults.len() > MAX_FAULTS {
            return Err(ToolError::InvalidField("faults"));
        }
        let faults = input
            .faults
            .into_iter()
            .map(|fault| Fault::requested(&fault.fields()));
        let faults = self
            .service
            .set_faults(&inbox, &faults.collect::<Result<Vec<_>, _>>()?)
            .await?;
        let faults = wire::faults(&faults);
        Answer::new(text::faults(&faults, inbox.id.as_str()), &faults)
    }
}
