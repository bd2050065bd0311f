//! Tests whether mail can be stored.

use std::collections::BTreeMap;

use restante_delivery::{NewMessage, Place, Request, Source};
use restante_mail::ParsedMessage;
use uuid::Uuid;

use super::content::ORDINARY;
use super::deliveries::{raise_sequences, write_messages};
use super::{Content, Delivery, Origin, Store, StoreError};
use crate::db::{Row, Transaction, values};
use crate::model::{ProjectId, Timestamp, generate_inbox_id};

impl Store {
    /// Fails if the database does not answer or rejects writes, or if its file is gone.
    ///
    /// # Errors
    /// [`DatabaseError::ReadOnly`]; [`DatabaseError::Gone`]; if the database fails.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.database.check_writable().await?;
        self.database
            .query("SELECT COUNT(*) FROM projects WHERE is_default = 1", vec![])
            .await?;
        Ok(())
    }

    /// Creates an inbox and writes a message, as a delivery does, removes both, and commits. No
    /// other transaction sees them.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        self.database
            .transact(async move |transaction| probe(transaction, now).await)
            .await
    }

    /// The time of a shared database; `None` for a database of this node alone.
    pub async fn database_time(&self) -> Result<Option<Timestamp>, StoreError> {
        const NOW: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        if !self.database.is_shared() {
            return Ok(None);
        }
        self.only(NOW, vec![], Row::get).await.map(Some)
    }
}

async fn probe(mut transaction: Transaction, now: Timestamp) -> Result<(), StoreError> {
    const OPEN: &str = "
        INSERT INTO inboxes (id, project_id, kind, created_at, expires_at)
        VALUES ($1, (SELECT id FROM projects WHERE is_default = 1), 'temporary', $2, $3) RETURNING number";
    let inbox = generate_inbox_id();
    let source = Source::Client {
        project: None,
        reverse_path: String::new(),
    };
    let request = Request {
        recipients: vec![inbox.clone().into()],
        source,
    };
    // A large message has chunks.
    let content = Content::encode(
        ParsedMessage::default(),
        String::new(),
        Origin::default(),
        &[0; ORDINARY + 1],
    );
    let place = Place {
        message: Uuid::now_v7(),
        sequence: 1,
    };
    let message = NewMessage {
        request: 0,
        inbox: inbox.clone(),
        project: ProjectId(Uuid::nil()),
        place,
        recipients: Vec::new(),
    };
    transaction.wait_briefly();
    let opened = transaction.query(OPEN, values![&inbox, now, now]).await?;
    let number = Row::only(opened, Row::get)?;
    let delivery = Delivery {
        request,
        content,
        outgoing: None,
    };
    let numbers = BTreeMap::from([(inbox.clone(), number)]);
    raise_sequences(
        &mut transaction,
        BTreeMap::from([(&inbox, 1)]),
        &numbers,
        now,
    )
    .await?;
    write_messages(&mut transaction, &[delivery], &[message], &numbers, now).await?;
    remove(&mut transaction, number).await?;
    Ok(transaction.commit().await?)
}

async fn remove(transaction: &mut Transaction, inbox: i64) -> Result<(), StoreError> {
    const MESSAGES: &str = "DELETE FROM messages WHERE inbox_number = $1 RETURNING content_number";
    const CONTENT: &str = "DELETE FROM contents WHERE number = $1";
    const CHUNKS: &str = "DELETE FROM chunks WHERE content_number = $1";
    const INBOX: &str = "DELETE FROM inboxes WHERE number = $1";
    for mut row in transaction.query(MESSAGES, values![inbox]).await? {
        let content = row.get::<Option<i64>>()?;
        transaction.execute(CONTENT, values![content]).await?;
        transaction.execute(CHUNKS, values![content]).await?;
    }
    transaction.execute(INBOX, values![inbox]).await?;
    Ok(())
}
