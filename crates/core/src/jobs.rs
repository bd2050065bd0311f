//! The walls in front of requests: how many of a key run at once, how many of them are large, and
//! how many large ones the process parses or builds at once. A request over a number waits a while
//! and is then turned away. What a request needs is not counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use crate::large::{self, Panicked, SMALL};

/// A larger body, message or answer is one of the large ones of its key until it is answered.
pub const LARGE: usize = 1024 * 1024;
/// Maximum number of requests that are parsed, built or stored at once. This many times the worst
/// one is the larger part of the memory's peak.
const PLACES: usize = 4;
/// How long a request waits.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The hash of an API key or of another credential; all clients without one are one.
pub type Holder = [u8; 32];

/// The request waited too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests run at the moment")]
pub struct Busy;

/// What a key may do a limited number of times at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wall {
    Request,
    Large,
    Scan,
    Backlog,
    Verification,
}

/// All walls. Cheap to clone; clones are the same.
#[derive(Clone, Debug)]
pub struct Jobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: usize,
    places: Arc<Semaphore>,
    keys: Mutex<HashMap<(Wall, Holder), Arc<Semaphore>>>,
}

/// A request or a scan that runs until this is dropped.
#[derive(Debug)]
pub struct Running {
    _permit: OwnedSemaphorePermit,
}

/// What a request for something large has taken.
#[derive(Debug)]
pub struct Job {
    jobs: Jobs,
    holder: Holder,
    large: Option<OwnedSemaphorePermit>,
    place: Option<OwnedSemaphorePermit>,
}

/// Bytes that are one of the large ones of a key until they are sent.
struct LargeBytes {
    bytes: Vec<u8>,
    _large: OwnedSemaphorePermit,
}

impl Jobs {
    /// Walls with which a key may run `requests` requests at once.
    #[must_use]
    pub fn new(requests: usize) -> Self {
        Self(Arc::new(Inner {
            requests,
            places: Arc::new(Semaphore::new(PLACES)),
            keys: Mutex::default(),
        }))
    }

    /// Starts a request of a key.
    ///
    /// # Errors
    /// [`Busy`] if too many of the key run.
    pub async fn request(&self, holder: Holder) -> Result<Running, Busy> {
        Running::of(self.of(Wall::Request, holder)).await
    }

    /// Starts a scan of the messages of a project, of which one runs at once.
    ///
    /// # Errors
    /// [`Busy`] if others run for too long.
    pub async fn scan(&self, project: Uuid) -> Result<Running, Busy> {
        Running::of(self.of(Wall::Scan, holder_of(project))).await
    }

    /// Starts the comparisons of a wait that has many messages to compare, of which a project has
    /// one at once. They do not queue behind scans, which take longer.
    ///
    /// # Errors
    /// [`Busy`] if others run for too long.
    pub async fn backlog(&self, project: Uuid) -> Result<Running, Busy> {
        Running::of(self.of(Wall::Backlog, holder_of(project))).await
    }

    /// Starts to verify the sender of a message, which needs several sockets: eight of a project
    /// at once.
    ///
    /// # Errors
    /// [`Busy`] if others run for too long.
    pub async fn verification(&self, project: Uuid) -> Result<Running, Busy> {
        Running::of(self.of(Wall::Verification, holder_of(project))).await
    }

    /// A job of a key, which has taken nothing.
    #[must_use]
    pub fn job(&self, holder: Holder) -> Job {
        Job {
            jobs: self.clone(),
            holder,
            large: None,
            place: None,
        }
    }

    #[must_use]
    pub fn are_idle(&self) -> bool {
        let keys = self.0.keys.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.places.available_permits() == PLACES && !keys.values().any(is_used)
    }

    fn of(&self, wall: Wall, holder: Holder) -> Arc<Semaphore> {
        let mut keys = self.0.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.get(&(wall, holder)) {
            return Arc::clone(known);
        }
        keys.retain(|_, semaphore| is_used(semaphore));
        let most = match wall {
            Wall::Request => self.0.requests,
            Wall::Large => 2,
            Wall::Scan | Wall::Backlog => 1,
            Wall::Verification => 8,
        };
        let semaphore = Arc::new(Semaphore::new(most));
        keys.insert((wall, holder), Arc::clone(&semaphore));
        semaphore
    }
}

fn holder_of(project: Uuid) -> Holder {
    let mut holder = Holder::default();
    holder[..16].copy_from_slice(project.as_bytes());
    holder
}

impl Running {
    async fn of(semaphore: Arc<Semaphore>) -> Result<Self, Busy> {
        let _permit = taken(semaphore).await?;
        Ok(Self { _permit })
    }
}

/// Whether a request has a permit, or waits for one.
fn is_used(semaphore: &Arc<Semaphore>) -> bool {
    Arc::strong_count(semaphore) > 1
}

async fn taken(semaphore: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Busy> {
    match timeout(TIMEOUT, semaphore.acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        // Nothing closes a semaphore.
        Ok(Err(_)) | Err(_) => Err(Busy),
    }
}

impl Job {
    /// Becomes one of the large ones of its key.
    ///
    /// # Errors
    /// [`Busy`] if the key has others for too long.
    pub async fn be_large(&mut self) -> Result<(), Busy> {
        if self.large.is_none() {
            self.large = Some(taken(self.jobs.of(Wall::Large, self.holder)).await?);
        }
        Ok(())
    }

    /// Takes a place to parse or build something of this size.
    ///
    /// # Errors
    /// [`Busy`] if none becomes free.
    pub async fn take_place(&mut self, bytes: usize) -> Result<(), Busy> {
        if bytes > SMALL && self.place.is_none() {
            self.be_large().await?;
            self.place = Some(taken(Arc::clone(&self.jobs.0.places)).await?);
        }
        Ok(())
    }

    /// Runs `work`, on a thread for large data if it has a place. What was taken is kept until it
    /// ends, even if the caller is dropped.
    ///
    /// # Errors
    /// If `work` panics.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Self), Panicked> {
        large::run(self.bytes(), move || (work(), self)).await
    }

    /// How much it works on, as far as that matters to [`large::run`].
    #[must_use]
    pub fn bytes(&self) -> usize {
        if self.place.is_some() { usize::MAX } else { 0 }
    }

    /// The bytes of an answer. The place is free; a large answer stays one of the large ones of
    /// its key until it is sent.
    #[must_use]
    pub fn answer(self, bytes: Vec<u8>) -> Bytes {
        match self.large {
            Some(_large) if bytes.len() > LARGE => Bytes::from_owner(LargeBytes { bytes, _large }),
            _ => bytes.into(),
        }
    }
}

impl AsRef<[u8]> for LargeBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    const A: Holder = [1; 32];
    const B: Holder = [2; 32];

    async fn large(jobs: &Jobs, holder: Holder) -> Result<Job, Busy> {
        let mut job = jobs.job(holder);
        job.take_place(SMALL + 1).await?;
        Ok(job)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_for_its_own_requests_and_delays_no_other() {
        let jobs = Jobs::new(3);
        let running = join_all((0..3).map(|_| jobs.request(A))).await;
        assert!(running.iter().all(Result::is_ok));
        let start = tokio::time::Instant::now();
        assert_eq!(jobs.request(A).await.unwrap_err(), Busy);
        assert_eq!(start.elapsed(), TIMEOUT);
        assert!(jobs.request(B).now_or_never().unwrap().is_ok());
        let waiting = tokio::spawn({
            let jobs = jobs.clone();
            async move { jobs.request(A).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(running);
        assert!(waiting.await.unwrap());
        assert!(jobs.are_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn two_large_jobs_of_a_key_leave_two_places_for_others() {
        let jobs = Jobs::new(64);
        let _own = [
            large(&jobs, A).await.unwrap(),
            large(&jobs, A).await.unwrap(),
        ];
        assert_eq!(large(&jobs, A).await.unwrap_err(), Busy);
        let others = [
            large(&jobs, B).await.unwrap(),
            large(&jobs, B).await.unwrap(),
        ];
        assert_eq!(large(&jobs, [3; 32]).await.unwrap_err(), Busy);
        drop(others);
        assert!(large(&jobs, [3; 32]).await.is_ok());
        // Something small needs neither.
        jobs.job(A)
            .take_place(SMALL)
            .now_or_never()
            .unwrap()
            .unwrap();
    }

    #[tokio::test]
    async fn a_large_answer_is_one_of_its_key_until_its_last_piece_is_sent() {
        let jobs = Jobs::new(64);
        let mut answer = large(&jobs, A).await.unwrap().answer(vec![0; LARGE + 1]);
        assert_eq!(jobs.0.places.available_permits(), PLACES);
        assert!(!jobs.are_idle());
        let piece = answer.split_off(5);
        drop(answer);
        assert!(!jobs.are_idle());
        drop(piece);
        assert!(jobs.are_idle());
        let _small = large(&jobs, A).await.unwrap().answer(vec![0; LARGE]);
        assert!(jobs.are_idle());
    }

    #[tokio::test]
    async fn work_keeps_its_place_after_its_caller_has_left() {
        let jobs = Jobs::new(64);
        let job = large(&jobs, A).await.unwrap();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let mut work = Box::pin(job.run(move || receiver.recv()));
        assert!(work.as_mut().now_or_never().is_none());
        drop(work);
        assert!(!jobs.are_idle());
        drop(sender);
        while !jobs.are_idle() {
            tokio::task::yield_now().await;
        }
    }
}
