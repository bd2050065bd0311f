//! All stored data of one message: its bytes and its envelope.

use super::messages::Head;
use super::{ContentForm, Store, StoreError};
use crate::db::values;
use crate::model::{Envelope, Everything, MessageId, ProjectId, Timestamp};

impl Store {
    /// A message with its envelope and its bytes, if `project` owns it.
    ///
    /// # Errors
    /// If the database fails or the message is damaged.
    pub async fn everything(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Everything>, StoreError> {
        const ENVELOPE: &str =
            "SELECT trace, reverse_path, client, helo, tls, authenticated FROM contents WHERE number = $1";
        let Some(head) = self.owned_head(project, id, now).await? else { return Ok(None) };
        let rows = self.database.look_up(ENVELOPE, values![head.content_number]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        let trace = row.text()?;
        let envelope = Envelope {
            from: row.text()?,
            client: row.optional_text()?,
            helo: row.optional_text()?,
            tls: row.optional_text()?,
            authenticated: row.optional_integer()?.map(|truth| truth == 1),
        };
        let room = self.room_for(2 * head.raw_size).await?;
        let Some(raw) = self.read_form(&head, ContentForm::Raw).await? else { return Ok(None) };
        let Head { inbox_id, received_at, .. } = head;
        Ok(Some(Everything { id, inbox_id, received_at, trace, envelope, raw, room }))
    }
}
