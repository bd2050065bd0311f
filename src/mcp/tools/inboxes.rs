//! Creates and deletes inboxes.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::{input, output};
use crate::model::{Inbox, InboxId};
use crate::service::Caller;
use crate::wire;

impl Tools {
    pub(super) async fn create_inbox(
        &self,
        caller: &Caller,
        input: input::CreateInbox,
    ) -> Result<Answer, ToolError> {
        let (inbox, is_new) = match input.address.trim() {
            "" => (self.service.create_inbox(caller).await?, true),
            address => self.service.ensure_inbox(caller, address, None).await?,
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

    pub(super) async fn delete_inbox(
        &self,
        caller: &Caller,
        input: input::InboxName,
    ) -> Result<Answer, ToolError> {
        let id = self.id_of(caller, &input.inbox).await?;
        self.service.delete_inbox(caller, id.as_str()).await?;
        let text = format!("Deleted the inbox {id} and its messages.");
        Answer::new(
            text,
            &output::Deleted {
                deleted: id.to_string(),
            },
        )
    }

    /// The caller's live inbox with this id or address.
    pub(super) async fn inbox(&self, caller: &Caller, name: &str) -> Result<Inbox, ToolError> {
        let id = self.id_of(caller, name).await?;
        Ok(self.service.inbox(caller, id.as_str()).await?)
    }

    /// The inbox id in an id or an address.
    pub(super) async fn id_of(&self, caller: &Caller, name: &str) -> Result<InboxId, ToolError> {
        Ok(self.service.id_of_name(caller, name.trim()).await?)
    }
}
