//! Checks whether a message is good.

use restante_mail::checks;

use super::{Answer, HeldRoom, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::output::{self, NOTICE};
use crate::mcp::{input, text};
use crate::model::Everything;
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn check_message(
        &self,
        caller: &Caller,
        held: &HeldRoom,
        input: input::MessageName,
    ) -> Result<Answer, ToolError> {
        let check = |Everything { raw, received_at, .. }| checks::checks(&raw, received_at.as_millis() / 1_000);
        let found = self.read(caller, held, &input.message, check).await?;
        let checks = output::Checks { notice: NOTICE.to_owned(), checks: wire::checks(found) };
        Answer::new(text::checks(&checks.checks), &checks)
    }
}
