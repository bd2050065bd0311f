//! Checks whether a message is good.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::input;
use crate::mcp::output::{self, NOTICE};
use crate::service::Caller;

impl Tools {
    pub(super) async fn check_message(
        &self,
        caller: &Caller,
        input: input::CheckMessage,
    ) -> Result<Answer, ToolError> {
        let checks = output::Checks {
            notice: NOTICE.to_owned(),
            checks: self
                .service
                .checks(caller, &input.message, input.dns)
                .await?,
        };
        let about = match checks.checks.problems.len() {
            0 => "The message has no problem.".to_owned(),
            1 => "The message has one problem.".to_owned(),
            count => format!("The message has {count} problems."),
        };
        Answer::of_fields(&about, &checks)
    }
}
