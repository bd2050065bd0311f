//! Requests that a client may repeat: the answer of the first is kept for a day.

use std::time::Duration;

use bytes::Bytes;

use super::{Store, StoreError};
use crate::db::{Row, Transaction, values};
use crate::model::Timestamp;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// After this time, a request without an answer has ended with its node: no request takes longer.
const ABANDONED: Duration = Duration::from_secs(10 * 60);
/// Maximum number of requests that one step of sweeping removes.
const A_STEP: i64 = 100;

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// It is new, and runs from now on.
    New,
    /// It was answered.
    Answered(String),
    /// It is running.
    Running,
    /// Its key belongs to a request with another body.
    Other,
}

impl Store {
    /// Begins the request with this hash of its project and key, unless it was started before.
    pub async fn begin_request(
        &self,
        hash: Bytes,
        body: Bytes,
        now: Timestamp,
    ) -> Result<Repetition, StoreError> {
        const FORGET: &str = "
            DELETE FROM repeatable_requests WHERE hash = $1
                AND (started_at <= $2 OR answer IS NULL AND started_at <= $3)";
        const BEGIN: &str = "
            INSERT INTO repeatable_requests (hash, body_hash, started_at) VALUES ($1, $2, $3)
            ON CONFLICT (hash) DO NOTHING";
        const EARLIER: &str = "SELECT body_hash, answer FROM repeatable_requests WHERE hash = $1";
        let begin = async move |mut transaction: Transaction| {
            let old = values![hash.clone(), now.before(KEPT), now.before(ABANDONED)];
            transaction.execute(FORGET, old).await?;
            let new = values![hash.clone(), body.clone(), now];
            let started = transaction.execute(BEGIN, new).await?;
            let earlier = transaction.query(EARLIER, values![hash]).await?;
            transaction.commit().await?;
            if started > 0 {
                return Ok(Repetition::New);
            }
            let read = |row: &mut Row| Ok((row.get::<Bytes>()?, row.get()?));
            Ok(match Row::first(earlier, read)? {
                Some((first, _)) if first != body => Repetition::Other,
                Some((_, Some(answer))) => Repetition::Answered(answer),
                // It may have failed in the meantime.
                Some((_, None)) | None => Repetition::Running,
            })
        };
        self.database.transact(begin).await
    }

    /// Keeps the answer of a request, or forgets the request, so that it can be sent again.
    pub async fn end_request(&self, hash: Bytes, answer: Option<String>) -> Result<(), StoreError> {
        const KEEP: &str = "UPDATE repeatable_requests SET answer = $2 WHERE hash = $1";
        const FORGET: &str = "DELETE FROM repeatable_requests WHERE hash = $1";
        let changing = match answer {
            Some(answer) => self.change(KEEP, values![hash, answer], None),
            None => self.change(FORGET, values![hash], None),
        };
        changing.await.map(drop)
    }
}

/// Removes requests whose answers are no longer kept.
pub(super) async fn sweep(
    transaction: &mut Transaction,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const FORGET: &str = "
        DELETE FROM repeatable_requests WHERE hash IN (
            SELECT hash FROM repeatable_requests WHERE started_at <= $1 LIMIT $2 {skip_locked})";
    let old = values![now.before(KEPT), A_STEP];
    Ok(transaction.execute(FORGET, old).await? > 0)
}
