//! All stored data of one message: its bytes and its envelope.

use super::messages::Head;
use super::{ContentForm, Store, StoreError};
use crate::db::values;
use crate::model::{Envelope, Everything, MessageId, ProjectId, Timestamp, Via};

impl Store {
    /// The header fields that this server put before a message, if `project` owns it.
    pub async fn message_trace(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let Some(head) = self.owned_head(project, id, now).await? else {
            return Ok(None);
        };
        Ok(self.content(&head).await?.map(|(trace, _)| trace))
    }

    /// The project that a message arrived for.
    pub async fn project_of_message(&self, id: MessageId) -> Result<Option<ProjectId>, StoreError> {
        const PROJECT: &str = "SELECT project_id FROM messages WHERE id = $1";
        let rows = self.database.look_up(PROJECT, values![id]).await?;
        Ok(rows
            .into_iter()
            .next()
            .map(|mut row| row.uuid())
            .transpose()?
            .map(ProjectId))
    }

    /// Finds a message, if `project` owns it.
    pub async fn find_message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Head>, StoreError> {
        Ok(self.owned_head(project, id, now).await?)
    }

    /// Reads a message with its envelope and its bytes; `None` if it was removed in the meantime.
    ///
    /// # Errors
    /// If the database fails or the message is damaged.
    pub async fn everything(&self, head: Head) -> Result<Option<Everything>, StoreError> {
        const ENVELOPE: &str = "SELECT trace, reverse_path, client, helo, tls, authenticated, via FROM contents WHERE number = $1";
        let rows = self
            .database
            .look_up(ENVELOPE, values![head.content_number])
            .await?;
        let Some(mut row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let trace = row.text()?;
        let mut envelope = Envelope {
            from: row.text()?,
            client: row.optional_text()?,
            helo: row.optional_text()?,
            tls: row.optional_text()?,
            authenticated: row.optional_integer()?.map(|truth| truth == 1),
            via: row.optional_text()?.as_deref().and_then(Via::of_word),
        };
        envelope.via = envelope.via.or(if envelope.client.is_some() {
            Some(Via::Smtp)
        } else {
            // A report of this service has the null reverse-path.
            Some(Via::Api).filter(|_| !envelope.from.is_empty())
        });
        let Some(raw) = self.read_form(&head, ContentForm::Raw).await? else {
            return Ok(None);
        };
        let Head {
            id,
            inbox_id,
            shared,
            from,
            subject,
            received_at,
            ..
        } = head;
        Ok(Some(Everything {
            id,
            inbox_id,
            shared,
            from,
            subject,
            received_at,
            trace,
            envelope,
            raw,
        }))
    }
}
