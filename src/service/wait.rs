//! Implements the wait: a request that remains open until a matching message arrives.
//!
//! A wait registers with the hub before it reads the store, so that a message that is committed
//! after the read wakes it. Only a request that has to stay open takes a slot. It then reads again
//! whenever the inbox changes, until it finds a message, the deadline passes, the inbox ends or the
//! service stops. Dropping the future (the client disconnects) ends the wait.
//!
//! Each look continues after the last message that was compared, because messages are committed in
//! the order of their sequences. Only when announcements were lost, as in a failover, it starts from
//! the beginning again.

use std::time::Duration;

use super::hub::Interest;
use super::journal::OpenRecord;
use super::{Caller, Service, ServiceError};
use crate::clock::Instant;
use crate::metrics;
use crate::model::{Inbox, MessageFilter, Timestamp, WaitEnd};
use crate::store::{Search, StoredMessage};

/// Maximum length of a wait. For a longer one, callers send several requests.
pub const MAX_WAIT: Duration = Duration::from_secs(120);
/// The shortest and the longest pause before a caller retries after [`ServiceError::TooManyWaits`].
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// The pause before a wait reads again if the database is unavailable.
const UNAVAILABLE_PAUSE: Duration = Duration::from_millis(200);

type Looked = Result<Option<StoredMessage>, ServiceError>;

/// What a request of a wait asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What its client has named the wait, to which it may send several requests.
    pub name: Option<&'a str>,
    pub filter: &'a MessageFilter,
    /// With zero, the store is read once.
    pub timeout: Duration,
    /// Whether a timeout is no failure.
    pub expects_none: bool,
}

impl<'a> Asked<'a> {
    /// A wait of one request for a message.
    #[must_use]
    pub fn once(filter: &'a MessageFilter, timeout: Duration) -> Self {
        Self {
            name: None,
            filter,
            timeout,
            expects_none: false,
        }
    }
}

impl Service {
    /// Returns the oldest matching message of `inbox`, and waits for it if necessary. Dropping the
    /// future frees the key's slot.
    ///
    /// # Errors
    /// - [`ServiceError::InvalidAfter`] if the cursor is not a message of the inbox
    /// - [`ServiceError::TooManyWaits`] if all slots of the key are in use
    /// - [`ServiceError::Timeout`], or [`ServiceError::NoMatchingMessage`] for a timeout of zero
    /// - [`ServiceError::InboxNotFound`] if the inbox ends
    /// - [`ServiceError::Unauthorized`] if the key is no longer valid
    /// - [`ServiceError::Stopping`] if the service stops
    pub async fn wait(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        asked: Asked<'_>,
    ) -> Result<StoredMessage, ServiceError> {
        let Asked {
            name,
            filter,
            timeout,
            expects_none,
        } = asked;
        let mut counted = metrics::WaitCount::begin();
        let record = OpenRecord::new(self, caller, inbox, asked);
        let looking = self.look_or_wait(caller, inbox, filter, timeout, &record);
        let result = looking.await;
        counted.ends(outcome(&result));
        let end = match end(&result) {
            WaitEnd::Timeout if expects_none => WaitEnd::Empty,
            // What the client compares itself may still exclude the message.
            WaitEnd::Message(id) if expects_none && filter.client.is_none() => {
                WaitEnd::Unexpected(id)
            }
            end => end,
        };
        // A look is no failure, unless it is the last of a wait with a name.
        let may_fail = !timeout.is_zero() || name.is_some();
        let failed = record.end(end).filter(|_| may_fail);
        let story = failed.and_then(|wait| self.keep_story(wait, inbox));
        match result {
            Err(ServiceError::Timeout { .. }) => Err(ServiceError::Timeout { story }),
            result => result,
        }
    }

    async fn look_or_wait(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
        record: &OpenRecord<'_>,
    ) -> Result<StoredMessage, ServiceError> {
        let mut search = Search::oldest_first(self.query(inbox, filter).await?);
        let deadline = self.0.clock.instant().after(timeout);
        let interest = self.0.hub.register(&inbox.id);
        let mut expires_at = inbox.expires_at;
        let looked = match self.look(inbox, &mut search, &mut expires_at).await {
            Ok(Some(message)) => return Ok(message),
            Ok(None) if timeout.is_zero() => return Err(ServiceError::NoMatchingMessage),
            looked => looked,
        };
        let Some(slot) = self.0.wait_slots.take(&caller.key).await? else {
            return Err(ServiceError::TooManyWaits);
        };
        record.remains_open();
        let _open = metrics::WaitGauge::begin();
        let mut waiter = Waiter {
            service: self,
            caller,
            inbox,
            expires_at,
            search,
            interest,
            deadline,
        };
        let result = waiter.wait(looked).await;
        // Freed before the response, so that the caller can start another wait on any node
        // immediately.
        slot.release().await;
        result
    }

    /// Reads once. If there is no match, `expires_at` becomes the current end of the inbox, which
    /// may have changed.
    async fn look(
        &self,
        inbox: &Inbox,
        search: &mut Search,
        expires_at: &mut Option<Timestamp>,
    ) -> Looked {
        let before = search.compared;
        // Boxed, so that an open wait takes no memory for it.
        let found = Box::pin(self.compare(inbox, search)).await;
        metrics::wait_compared(search.compared - before);
        let found = found?;
        if found.is_none() {
            *expires_at = self.end_of(inbox).await?;
        }
        Ok(found)
    }

    /// Compares the messages that have not been compared. If they are many, one wait of a project
    /// does so at a time.
    async fn compare(&self, inbox: &Inbox, search: &mut Search) -> Looked {
        let store = self.store();
        let found = store.next_match(search, self.now()).await?;
        if found.is_some() || search.is_over() {
            return Ok(found);
        }
        let _backlog = self.0.jobs.backlog(inbox.project.0).await?;
        Ok(store.oldest_match(search, self.now()).await?)
    }

    /// When the inbox expires. Fails if it has ended, or was deleted and created again: then it is
    /// another inbox.
    async fn end_of(&self, inbox: &Inbox) -> Result<Option<Timestamp>, ServiceError> {
        let present = self.store().live_inbox(&inbox.id, self.now()).await?;
        let same = present.filter(|present| present.created_at == inbox.created_at);
        same.map(|present| present.expires_at)
            .ok_or(ServiceError::InboxNotFound)
    }
}

/// A wait that has a slot.
struct Waiter<'a> {
    service: &'a Service,
    caller: &'a Caller,
    inbox: &'a Inbox,
    expires_at: Option<Timestamp>,
    search: Search,
    interest: Interest,
    deadline: Instant,
}

impl Waiter<'_> {
    /// Waits and reads until there is a result; `looked` is the result of the first read.
    async fn wait(&mut self, mut looked: Looked) -> Result<StoredMessage, ServiceError> {
        loop {
            let clock = &self.service.0.clock;
            let is_over = clock.instant() >= self.deadline;
            let until = match looked {
                Ok(Some(message)) => return Ok(message),
                Ok(None) if is_over => return Err(ServiceError::Timeout { story: None }),
                Ok(None) => self
                    .expires_at
                    .map_or(self.deadline, |at| clock.instant_of(at).min(self.deadline)),
                // A wait continues while the database is unavailable, or others compare.
                Err(error) if !is_over && is_temporary(&error) => {
                    clock.instant().after(UNAVAILABLE_PAUSE).min(self.deadline)
                }
                Err(error) => return Err(error),
            };
            self.pause(until).await?;
            looked = self.look_again().await;
        }
    }

    async fn pause(&mut self, until: Instant) -> Result<(), ServiceError> {
        tokio::select! {
            () = self.interest.changed() => Ok(()),
            () = self.service.0.clock.sleep_until(until) => Ok(()),
            () = self.service.0.waits_end.cancelled() => Err(ServiceError::Stopping),
        }
    }

    /// Reads again, if the caller's key is still valid.
    async fn look_again(&mut self) -> Looked {
        if !self.service.0.projects.works(&self.caller.key).await? {
            return Err(ServiceError::Unauthorized);
        }
        if self.interest.missed() {
            self.search.restart();
        }
        self.service
            .look(self.inbox, &mut self.search, &mut self.expires_at)
            .await
    }
}

/// How long a caller pauses before it waits again, after [`ServiceError::TooManyWaits`] or another
/// temporary error. The pause is a tenth of the time waited so far, between 50 ms and 1 s, so that
/// it adds little delay. Jitter spreads parallel callers.
pub fn pause_before_retry(waited: Duration) -> Duration {
    (waited / 10)
        .clamp(MIN_PAUSE, MAX_PAUSE)
        .mul_f64(rand::random_range(0.5..1.0))
}

fn is_temporary(error: &ServiceError) -> bool {
    match error {
        ServiceError::Busy => true,
        ServiceError::Store(error) => error.is_unavailable(),
        _ => false,
    }
}

/// The result as the dashboard's record of the wait has it.
fn end(result: &Result<StoredMessage, ServiceError>) -> WaitEnd {
    match result {
        Ok(message) => WaitEnd::Message(message.head.id),
        Err(ServiceError::Timeout { .. } | ServiceError::NoMatchingMessage) => WaitEnd::Timeout,
        Err(ServiceError::InboxNotFound) => WaitEnd::InboxEnded,
        Err(ServiceError::TooManyWaits) => WaitEnd::TooMany,
        Err(_) => WaitEnd::Failed,
    }
}

/// The result as the metrics have it.
fn outcome(result: &Result<StoredMessage, ServiceError>) -> &'static str {
    match result {
        Ok(_) => "found",
        Err(ServiceError::Timeout { .. } | ServiceError::NoMatchingMessage) => "timeout",
        Err(ServiceError::InboxNotFound) => "inbox_ended",
        Err(ServiceError::Stopping) => "stopping",
        Err(ServiceError::TooManyWaits) => "refused",
        Err(_) => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_about_a_tenth_of_the_time_waited() {
        for (waited, longest) in [
            (0, 50),
            (500, 50),
            (5_000, 500),
            (10_000, 1_000),
            (120_000, 1_000),
        ] {
            let longest = Duration::from_millis(longest);
            let pause = pause_before_retry(Duration::from_millis(waited));
            assert!(
                longest / 2 <= pause && pause <= longest,
                "{pause:?} after {waited} ms"
            );
        }
    }

    #[test]
    fn the_metrics_have_each_result() {
        let cases = [
            (ServiceError::Timeout { story: None }, "timeout"),
            (ServiceError::NoMatchingMessage, "timeout"),
            (ServiceError::InboxNotFound, "inbox_ended"),
            (ServiceError::Stopping, "stopping"),
            (ServiceError::TooManyWaits, "refused"),
            (ServiceError::Unauthorized, "failed"),
            (ServiceError::Unavailable, "failed"),
        ];
        for (error, expected) in cases {
            assert_eq!(outcome(&Err(error)), expected);
        }
    }
}
