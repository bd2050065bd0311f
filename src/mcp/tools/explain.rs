//! Explains why a message is missing.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::output::{self, NOTICE};
use crate::mcp::{input, text};
use crate::model::MessageFilter;
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn explain_missing(
        &self,
        caller: &Caller,
        input: input::Explain,
    ) -> Result<Answer, ToolError> {
        let id = self.id_of(caller, &input.inbox).await?;
        let explanation = self
            .explanation(caller, id.as_str(), &input.filter.resolve()?)
            .await?;
        Answer::new(text::explanation(&explanation), &explanation)
    }

    pub(super) async fn explanation(
        &self,
        caller: &Caller,
        id: &str,
        filter: &MessageFilter,
    ) -> Result<output::Explanation, ToolError> {
        let explanation = self
            .service
            .explain(caller, id, (None, filter), &self.addresses.smtp.to_string())
            .await?;
        let summary = explanation.summary.clone();
        let explanation = wire::explanation(explanation, self.service.mail_domain());
        Ok(output::Explanation {
            notice: NOTICE.to_owned(),
            explanation,
            summary,
        })
    }
}
