//! Live updates of the dashboard: a follower is notified when the content of its page has changed.
//!
//! A follower has the mark of its page: the version of the content that the page shows. It
//! subscribes to changes before it compares marks, so that no change is missed. It also compares at
//! intervals, because the expiry of an inbox is not announced. Before each event it checks that its
//! session or key is still valid. Followers of the same page share one query.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Caller, Service, ServiceError, Session};
use crate::model::{KeyHash, Watched};
use crate::store::StoreError;

/// Maximum time between two events. Proxies close connections that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Changes within this time are announced together.
const TOGETHER: Duration = Duration::from_millis(100);
/// A heartbeat may use the result of another follower's query up to this age.
const RECENT: Duration = Duration::from_secs(5);
/// Maximum number of followers of one session or key.
const FOLLOWERS: usize = 20;

/// What a follower receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The page has changed; this is its new mark.
    Changed(String),
    /// Nothing has changed; keeps the connection open.
    Heartbeat,
}

/// The state that all followers share.
#[derive(Debug, Default)]
pub(super) struct Followers {
    end: CancellationToken,
    pages: WeakMap<Watched, LatestResult<String>>,
    sessions: WeakMap<KeyHash, OpenSession>,
}

/// A follower of one page.
#[derive(Debug)]
pub struct Follower {
    service: Service,
    reader: Reader,
    open_session: Arc<OpenSession>,
    watched: Watched,
    page: Arc<LatestResult<String>>,
    seen: Option<String>,
    has_looked: bool,
    /// When the latest change was announced to this follower.
    woken: Instant,
    changes: broadcast::Receiver<()>,
    _place: OwnedSemaphorePermit,
}

/// Who follows: a session of the dashboard, or a client with an API key.
#[derive(Debug)]
enum Reader {
    Session(Session),
    Key(Caller),
}

/// The state that the followers of one session or key share.
#[derive(Debug)]
struct OpenSession {
    places: Arc<Semaphore>,
    is_valid: LatestResult<bool>,
}

impl Default for OpenSession {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(FOLLOWERS)),
            is_valid: LatestResult::default(),
        }
    }
}

impl Service {
    /// The current mark: the version of the page's content.
    pub async fn mark(&self, watched: &Watched) -> Result<String, StoreError> {
        self.store().mark(watched, self.now()).await
    }

    /// Follows `watched`, starting with the mark `seen`, as long as `session` is valid.
    ///
    /// # Errors
    /// [`ServiceError::TooManyStreams`].
    pub fn follow(
        &self,
        session: Session,
        watched: Watched,
        seen: Option<String>,
    ) -> Result<Follower, ServiceError> {
        self.follow_as(Reader::Session(session), watched, seen)
    }

    /// Follows the mail of the caller's project from now on, as long as the key is valid.
    ///
    /// # Errors
    /// [`ServiceError::TooManyStreams`], or if the store fails.
    pub async fn follow_mail(&self, caller: Caller) -> Result<Follower, ServiceError> {
        let watched = Watched::Mail(caller.project);
        let seen = self.mark(&watched).await?;
        self.follow_as(Reader::Key(caller), watched, Some(seen))
    }

    fn follow_as(
        &self,
        reader: Reader,
        watched: Watched,
        seen: Option<String>,
    ) -> Result<Follower, ServiceError> {
        let open_session = self.0.followers.sessions.get(match &reader {
            Reader::Session(session) => &session.cookie,
            Reader::Key(caller) => &caller.key,
        });
        let place = Arc::clone(&open_session.places)
            .try_acquire_owned()
            .map_err(|_| ServiceError::TooManyStreams)?;
        Ok(Follower {
            service: self.clone(),
            reader,
            open_session,
            page: self.0.followers.pages.get(&watched),
            watched,
            seen,
            has_looked: false,
            changes: self.0.hub.register_all(),
            woken: Instant::now(),
            _place: place,
        })
    }

    /// Ends every follower, so that no open stream delays the shutdown.
    pub fn end_followers(&self) {
        self.0.followers.end.cancel();
    }
}

impl Follower {
    /// Waits for the next event; `None` once the session is no longer valid or the service stops.
    pub async fn next(&mut self) -> Result<Option<News>, ServiceError> {
        let end = self.service.0.followers.end.clone();
        let Some(news) = end
            .run_until_cancelled(self.wait())
            .await
            .transpose()?
            .flatten()
        else {
            return Ok(None);
        };
        // Checked after the follower was woken, so that a revoked session ends here.
        let is_valid = self
            .open_session
            .is_valid
            .since(self.woken, self.is_valid())
            .await?;
        Ok(is_valid.then_some(news))
    }

    async fn is_valid(&self) -> Result<bool, ServiceError> {
        match &self.reader {
            Reader::Session(session) => Ok(self.service.is_valid(session).await?),
            Reader::Key(caller) if caller.is_anyone() => Ok(true),
            Reader::Key(caller) => Ok(self.service.0.projects.works(&caller.key).await?),
        }
    }

    async fn wait(&mut self) -> Result<Option<News>, ServiceError> {
        if !self.has_looked {
            self.has_looked = true;
            self.woken = Instant::now();
            if let Some(news) = self.look(self.woken).await? {
                return Ok(Some(news));
            }
        }
        let heartbeat = tokio::time::sleep(HEARTBEAT);
        tokio::pin!(heartbeat);
        loop {
            tokio::select! {
                () = &mut heartbeat => {
                    self.woken = Instant::now();
                    let recent = self.woken.checked_sub(RECENT).unwrap_or(self.woken);
                    return Ok(Some(self.look(recent).await?.unwrap_or(News::Heartbeat)));
                }
                changed = self.changes.recv() => {
                    if matches!(changed, Err(broadcast::error::RecvError::Closed)) {
                        return Ok(None);
                    }
                }
            }
            // Drops the changes announced so far, because the query below sees them. Later ones
            // wake the follower again.
            self.changes = self.changes.resubscribe();
            self.woken = Instant::now();
            tokio::time::sleep(TOGETHER).await;
            if let Some(news) = self.look(self.woken).await? {
                return Ok(Some(news));
            }
        }
    }

    async fn look(&mut self, not_before: Instant) -> Result<Option<News>, ServiceError> {
        let mark = self
            .page
            .since(not_before, self.service.mark(&self.watched))
            .await?;
        if self.seen.as_ref() == Some(&mark) {
            return Ok(None);
        }
        self.seen = Some(mark.clone());
        Ok(Some(News::Changed(mark)))
    }
}

/// Values that several holders share, by key; a value is dropped with its last holder.
#[derive(Debug)]
struct WeakMap<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K, V> Default for WeakMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Default> WeakMap<K, V> {
    fn get(&self, key: &K) -> Arc<V> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = held.get(key).and_then(Weak::upgrade) {
            return value;
        }
        held.retain(|_, value| value.strong_count() > 0);
        let value = Arc::default();
        held.insert(key.clone(), Arc::downgrade(&value));
        value
    }
}

/// The result of the latest query, and when that query was started.
#[derive(Debug)]
struct LatestResult<T>(tokio::sync::Mutex<Option<(Instant, T)>>);

impl<T> Default for LatestResult<T> {
    fn default() -> Self {
        Self(tokio::sync::Mutex::default())
    }
}

impl<T: Clone> LatestResult<T> {
    /// Returns a result that is not older than `not_before`. If several callers need one at the
    /// same time, only one of them runs its query (`look_up`).
    async fn since<E>(
        &self,
        not_before: Instant,
        look_up: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut latest = self.0.lock().await;
        if let Some((started, result)) = &*latest
            && *started >= not_before
        {
            return Ok(result.clone());
        }
        let started = Instant::now();
        let result = look_up.await?;
        *latest = Some((started, result.clone()));
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_readers_share_one_lookup() {
        let latest = LatestResult::default();
        let look_ups = AtomicU32::new(0);
        let look_up = async || {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(look_ups.fetch_add(1, Ordering::Relaxed))
        };
        let woken = Instant::now();
        let together = (0..100).map(|_| latest.since(woken, look_up()));
        let results = futures_util::future::join_all(together).await;
        assert!(results.iter().all(|result| *result == Ok(0)));
        tokio::time::sleep(Duration::from_nanos(1)).await;
        assert_eq!(latest.since(Instant::now(), look_up()).await, Ok(1));
    }

    #[test]
    fn a_value_is_shared_while_it_has_a_holder() {
        let shared: WeakMap<&str, LatestResult<()>> = WeakMap::default();
        let one = shared.get(&"a");
        let two = shared.get(&"a");
        assert!(Arc::ptr_eq(&one, &two));
        drop((one, two));
        let _other = shared.get(&"b");
        assert_eq!(shared.0.lock().unwrap().len(), 1);
    }
}
