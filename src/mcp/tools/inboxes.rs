//! Creates and deletes inboxes.

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, output};
use crate::model::{Inbox, InboxId};
use crate::wire;

impl CallersTools {
    pub(super) async fn create_inbox(
        &self,
        input: input::CreateInbox,
    ) -> Result<Answer, ToolError> {
        let (inbox, is_new) = match input.address.trim() {
            "" => (self.service.create_inbox(&self.caller).await?, true),
            address => {
                self.service
                    .ensure_inbox(&self.caller, address, None)
                    .await?
            }
        };
        let inbox = wire::inbox(&inbox, self.service.mail_domain());
        let expiry = inbox.expires_at.as_deref().unwrap_or("never");
        let what = if is_new {
            "Created the inbox"
        } else {
            "There is already the inbox"
        };
        let text = format!(
            "{what} {} with the address {}. It expires {expiry}. Let the application send mail to the \
             address, then call wait_for_message.",
            inbox.id, inbox.address
        );
        Answer::new(text, &inbox)
    }

    pub(super) async fn delete_inbox(&self, input: input::InboxName) -> Result<Answer, ToolError> {
        let id = self.id_of(&input.inbox).await?;
        self.service.delete_inbox(&self.caller, id.as_str()).await?;
        let text = format!("Deleted the inbox {id} and its messages.");
        Answer::new(
            text,
            &output::Deleted {
                deleted: id.to_string(),
            },
        )
    }

    /// The caller's live inbox with this id or address.
    pub(super) async fn inbox(&self, name: &str) -> Result<Inbox, ToolError> {
        let id = self.id_of(name).await?;
        Ok(self.service.inbox(&self.caller, id.as_str()).await?)
    }

    /// The inbox id in an id or an address.
    pub(super) async fn id_of(&self, name: &str) -> Result<InboxId, ToolError> {
        Ok(self.service.id_of_name(&self.caller, name.trim()).await?)
    }
}
