//! Injects SMTP faults for an inbox.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, output, text};
use crate::model::{FaultFields, FaultState, MOST_FAULTS};
use crate::service::Caller;

impl Tools {
    pub(super) async fn set_faults(&self, caller: &Caller, input: input::SetFaults) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        if input.faults.len() > MOST_FAULTS {
            return Err(ToolError::InvalidField("faults"));
        }
        let faults = input.faults.into_iter().map(|fault| fault.fields().fault());
        let faults = self.service.set_faults(&inbox, &faults.collect::<Result<Vec<_>, _>>()?).await?;
        let faults = output::Faults { faults: faults.iter().map(view).collect() };
        Answer::new(text::faults(&faults, inbox.id.as_str()), &faults)
    }
}

fn view(state: &FaultState) -> output::Fault {
    let fault = &state.fault;
    let FaultFields { reply, seconds, store, .. } = fault.fields();
    output::Fault {
        at: fault.at.as_str().to_owned(),
        action: fault.action.as_str().to_owned(),
        times: fault.times,
        reply,
        seconds,
        store,
        left: state.left(),
        used: state.used(),
        uses: state.uses.iter().map(ToString::to_string).collect(),
    }
}
