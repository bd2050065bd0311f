//! Tests whether mail can be stored.

use std::collections::BTreeMap;

use restante_delivery::{NewMessage, Place, Request, Source};
use restante_mail::ParsedMessage;
use uuid::Uuid;

use super::deliveries::write_messages;
use super::{Content, Delivery, Origin, Store, StoreError};
use crate::db::{DatabaseError, Transaction, values};
use crate::model::{ProjectId, Timestamp, generate_inbox_id};

/// No inbox has this number.
const NO_INBOX: i64 = -1;

impl Store {
    /// Fails if the database does not answer, or rejects writes.
    ///
    /// # Errors
    /// [`DatabaseError::ReadOnly`]; if the database fails.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.database.query("SELECT COUNT(*) FROM projects WHERE is_default = 1", vec![]).await?;
        Ok(self.database.check_writable().await?)
    }

    /// Writes a message as a delivery does, removes it, and commits. No other transaction sees it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        self.database.transact(async move |transaction| probe(transaction, now).await).await
    }

    /// The time of a shared database; `None` for a database of this node alone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn database_time(&self) -> Result<Option<Timestamp>, StoreError> {
        const NOW: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        if !self.database.is_shared() {
            return Ok(None);
        }
        let row = self.database.query(NOW, vec![]).await?.into_iter().next();
        Ok(Some(Timestamp::from_millis(row.ok_or(DatabaseError::NoRow)?.integer()?)))
    }
}

async fn probe(mut transaction: Transaction, now: Timestamp) -> Result<(), StoreError> {
    const REMOVE: &str = "DELETE FROM messages WHERE inbox_number = $1 RETURNING content_number";
    const REMOVE_CONTENT: &str = "DELETE FROM contents WHERE number = $1";
    let inbox = generate_inbox_id();
    let source = Source::Client { project: None, reverse_path: String::new() };
    let request = Request { recipients: vec![inbox.clone().into()], source };
    let content = Content::encode(ParsedMessage::default(), String::new(), Origin::default(), b"");
    let place = Place { message: Uuid::now_v7(), sequence: 1 };
    let message = NewMessage { request: 0, inbox: inbox.clone(), project: ProjectId(Uuid::nil()), place };
    transaction.wait_briefly();
    let delivery = Delivery { request, content, outgoing: None };
    let numbers = BTreeMap::from([(inbox, NO_INBOX)]);
    write_messages(&mut transaction, &[delivery], &[message], &numbers, now).await?;
    for mut row in transaction.query(REMOVE, values![NO_INBOX]).await? {
        transaction.execute(REMOVE_CONTENT, values![row.optional_integer()?]).await?;
    }
    Ok(transaction.commit().await?)
}
