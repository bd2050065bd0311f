//! Checks whether a message is good.

use super::{Answer, HeldRoom, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::output::{self, NOTICE};
use crate::mcp::{input, text};
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn check_message(
        &self,
        caller: &Caller,
        held: &HeldRoom,
        input: input::CheckMessage,
    ) -> Result<Answer, ToolError> {
        held.check_free()?;
        let (checked, room) = self
            .service
            .checks(caller, &input.message, input.dns)
            .await?;
        held.put(room);
        let checks = output::Checks {
            notice: NOTICE.to_owned(),
            checks: wire::checked(checked),
        };
        Answer::new(text::checks(&checks.checks), &checks)
    }
}
