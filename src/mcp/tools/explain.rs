//! Explains why a message is missing.

use restante_api::Explanation;

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::output::Foreign;
use crate::mcp::{input, text};
use crate::model::MessageFilter;
use crate::wire;

impl CallersTools {
    pub(super) async fn explain_missing(&self, input: input::Explain) -> Result<Answer, ToolError> {
        let id = self.id_of(&input.inbox).await?;
        let filter = input.filter.resolve()?;
        let (text, explanation) = self.explanation(id.as_str(), &filter).await?;
        Answer::new(text, &explanation)
    }

    /// The explanation, and its text.
    pub(super) async fn explanation(
        &self,
        id: &str,
        filter: &MessageFilter,
    ) -> Result<(String, Foreign<Explanation>), ToolError> {
        let smtp = self.addresses.smtp.to_string();
        let explained = self
            .service
            .explain(&self.caller, id, (None, filter), &smtp);
        let explained = explained.await?;
        let summary = explained.summary.clone();
        let explanation = wire::explanation(explained, self.service.mail_domain());
        let text = text::explanation(&summary, &explanation);
        Ok((text, explanation.into()))
    }
}
