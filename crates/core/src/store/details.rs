//! All stored data of one message: its bytes and its envelope.

use super::messages::Head;
use super::{ContentForm, Store, StoreError};
use crate::db::{Row, values};
use crate::model::{Envelope, MessageId, ProjectId, Via};

/// A message with all its stored data.
#[derive(Debug)]
pub struct Everything {
    pub head: Head,
    /// The header fields that this server put before it.
    pub trace: String,
    /// Its envelope and connection.
    pub envelope: Envelope,
    /// Its bytes as received.
    pub raw: Vec<u8>,
}

impl Store {
    /// The project that a message arrived for.
    pub async fn project_of_message(&self, id: MessageId) -> Result<Option<ProjectId>, StoreError> {
        const PROJECT: &str = "SELECT project_id FROM messages WHERE id = $1";
        self.first(PROJECT, values![id], Row::get).await
    }

    /// Reads a message with its envelope and its bytes; `None` if it was removed in the meantime.
    ///
    /// # Errors
    /// If the database fails or the message is damaged.
    pub async fn everything(&self, head: Head) -> Result<Option<Everything>, StoreError> {
        const ENVELOPE: &str = "SELECT trace, reverse_path, client, helo, tls, authenticated, via FROM contents WHERE number = $1";
        let read = |row: &mut Row| {
            let trace = row.get()?;
            let envelope = Envelope {
                from: row.get()?,
                client: row.get()?,
                helo: row.get()?,
                tls: row.get()?,
                authenticated: row.get()?,
                via: row
                    .get::<Option<String>>()?
                    .as_deref()
                    .and_then(Via::of_word),
            };
            Ok((trace, envelope))
        };
        let number = values![head.content_number];
        let Some((trace, mut envelope)) = self.first(ENVELOPE, number, read).await? else {
            return Ok(None);
        };
        envelope.via = envelope.via.or(if envelope.client.is_some() {
            Some(Via::Smtp)
        } else {
            // A report of this service has the null reverse-path.
            Some(Via::Api).filter(|_| !envelope.from.is_empty())
        });
        let raw = self.read_form(&head, ContentForm::Raw).await?;
        Ok(raw.map(|raw| Everything {
            head,
            trace,
            envelope,
            raw,
        }))
    }
}
