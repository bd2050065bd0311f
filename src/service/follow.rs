//! Following along: whoever looks at a list hears when it has changed, and what has changed while they were away.
//!
//! A follower holds the mark of what they have seen. They listen before they compare, so nothing slips between, and
//! they compare again after a while even when nothing was announced, because inboxes also expire in silence.

use std::time::Duration;

use tokio::sync::broadcast;

use super::{Service, ServiceError};
use crate::store::Watched;

/// How long a follower hears nothing at most.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Changes that come one on the other are told together.
const TOGETHER: Duration = Duration::from_millis(100);

/// What a follower hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It has changed; this is its new mark.
    Changed(String),
    /// Nothing has.
    Heartbeat,
}

/// Somebody who follows one thing.
#[derive(Debug)]
pub struct Follower {
    service: Service,
    watched: Watched,
    seen: String,
    changes: broadcast::Receiver<()>,
}

impl Service {
    /// The mark of what is there now.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn mark(&self, watched: &Watched) -> Result<String, ServiceError> {
        Ok(self.0.store.mark(watched, self.0.clock.now()).await?)
    }

    /// Follows `watched` from the mark `seen` on.
    #[must_use]
    pub fn follow(&self, watched: Watched, seen: String) -> Follower {
        Follower { service: self.clone(), watched, seen, changes: self.0.hub.register_all() }
    }

    /// Ends every follower, so that no open stream holds up a stop.
    pub fn end_followers(&self) {
        self.0.followers_end.cancel();
    }
}

impl Follower {
    /// The next news; `None` once the service stops.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn next(&mut self) -> Result<Option<News>, ServiceError> {
        if self.service.0.followers_end.is_cancelled() {
            return Ok(None);
        }
        if let Some(news) = self.look().await? {
            return Ok(Some(news));
        }
        let heartbeat = tokio::time::sleep(HEARTBEAT);
        tokio::pin!(heartbeat);
        loop {
            tokio::select! {
                () = self.service.0.followers_end.cancelled() => return Ok(None),
                () = &mut heartbeat => return Ok(Some(self.look().await?.unwrap_or(News::Heartbeat))),
                changed = self.changes.recv() => {
                    if matches!(changed, Err(broadcast::error::RecvError::Closed)) {
                        return Ok(None);
                    }
                }
            }
            tokio::time::sleep(TOGETHER).await;
            self.changes = self.changes.resubscribe();
            if let Some(news) = self.look().await? {
                return Ok(Some(news));
            }
        }
    }

    async fn look(&mut self) -> Result<Option<News>, ServiceError> {
        let mark = self.service.mark(&self.watched).await?;
        if mark == self.seen {
            return Ok(None);
        }
        self.seen.clone_from(&mark);
        Ok(Some(News::Changed(mark)))
    }
}
