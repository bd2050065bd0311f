//! Checks whether a message is good.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::output::{self, NOTICE};
use crate::mcp::{input, text};
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn check_message(
        &self,
        caller: &Caller,
        input: input::CheckMessage,
    ) -> Result<Answer, ToolError> {
        let checked = self
            .service
            .checks(caller, &input.message, input.dns)
            .await?;
        let checks = output::Checks {
            notice: NOTICE.to_owned(),
            checks: wire::checked(checked),
        };
        Answer::new(text::checks(&checks.checks), &checks)
    }
}
