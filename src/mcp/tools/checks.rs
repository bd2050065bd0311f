//! Checks whether a message is good.

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::input;
use crate::mcp::output::Foreign;

impl CallersTools {
    pub(super) async fn check_message(
        &self,
        input: input::CheckMessage,
    ) -> Result<Answer, ToolError> {
        let checks = self
            .service
            .checks(&self.caller, &input.message, input.dns)
            .await?;
        let about = match checks.problems.len() {
            0 => "The message has no problem.".to_owned(),
            1 => "The message has one problem.".to_owned(),
            count => format!("The message has {count} problems."),
        };
        Answer::of_fields(&about, &Foreign::from(checks))
    }
}
