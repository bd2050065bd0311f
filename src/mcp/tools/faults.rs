//! Injects SMTP faults for an inbox, and reads their uses.

use restante_api::{FaultList, MAX_FAULTS};

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::input;
use crate::model::{Fault, Inbox};
use crate::wire;

impl CallersTools {
    pub(super) async fn get_faults(&self, input: input::InboxName) -> Result<Answer, ToolError> {
        let inbox = self.inbox(&input.inbox).await?;
        let faults = wire::faults(&self.service.faults(&inbox).await?);
        listed(&inbox, &faults)
    }

    pub(super) async fn set_faults(&self, input: input::SetFaults) -> Result<Answer, ToolError> {
        let inbox = self.inbox(&input.inbox).await?;
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
        listed(&inbox, &faults)
    }
}

fn listed(inbox: &Inbox, faults: &FaultList) -> Result<Answer, ToolError> {
    let id = &inbox.id;
    let about = if faults.faults.is_empty() {
        format!("The inbox {id} has no faults: mail for it is accepted.")
    } else {
        format!(
            "The inbox {id} has these faults, used in this order; after the last one mail is accepted."
        )
    };
    Answer::of_fields(&about, faults)
}
