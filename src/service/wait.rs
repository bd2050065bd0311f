//! The wait: one open request until a message is there.
//!
//! The waiter registers with the hub, then looks, then parks; so whatever is committed after the look wakes it. It
//! parks until the inbox changes, the deadline, the inbox's end, or the end of the service, and looks again each time.

use std::time::Duration;

use super::hub::Interest;
use super::{Caller, MessageFilter, Service, ServiceError};
use crate::clock::Instant;
use crate::metrics;
use crate::model::{Inbox, Message};
use crate::store::Selection;

/// How long a wait rests whose database does not answer before it looks again.
const ABSENT_PAUSE: Duration = Duration::from_millis(200);

impl Service {
    /// The oldest message of `inbox` that matches, as soon as there is one. A `timeout` of zero means one look.
    /// Dropping the future frees the key's slot at once.
    ///
    /// # Errors
    /// [`ServiceError::InvalidAfter`], [`ServiceError::TooManyWaits`]; [`ServiceError::Timeout`], or
    /// [`ServiceError::NoMatchingMessage`] where the timeout is zero; [`ServiceError::InboxNotFound`] once the inbox has
    /// ended; [`ServiceError::Stopping`].
    pub async fn wait(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
    ) -> Result<Message, ServiceError> {
        let selection = self.selection(inbox, filter).await?;
        let Some(slot) = self.0.wait_slots.take(&caller.key).await? else {
            metrics::wait_refused();
            return Err(ServiceError::TooManyWaits);
        };
        let mut open = metrics::OpenWait::begin();
        let result = self.wait_for(inbox, &selection, timeout).await;
        open.ends(outcome(&result));
        // Before the answer: whoever has read it finds the slot free, on every node.
        slot.release().await;
        result
    }

    async fn wait_for(&self, inbox: &Inbox, selection: &Selection, timeout: Duration) -> Result<Message, ServiceError> {
        let deadline = self.0.clock.instant().after(timeout);
        let mut interest = self.0.hub.register(&inbox.id);
        loop {
            let looked = self.look(inbox, selection).await;
            let left = self.0.clock.instant() < deadline;
            let until = match looked {
                Ok(Some(message)) => return Ok(message),
                Ok(None) if timeout.is_zero() => return Err(ServiceError::NoMatchingMessage),
                Ok(None) if !left => return Err(ServiceError::Timeout),
                Ok(None) => inbox.expires_at.map_or(deadline, |at| self.0.clock.instant_of(at).min(deadline)),
                // A wait outlasts the absence of its database.
                Err(ServiceError::Store(error)) if left && error.is_unavailable() => {
                    self.0.clock.instant().after(ABSENT_PAUSE).min(deadline)
                }
                Err(error) => return Err(error),
            };
            self.park(&mut interest, until).await?;
        }
    }

    async fn look(&self, inbox: &Inbox, selection: &Selection) -> Result<Option<Message>, ServiceError> {
        let found = self.0.store.oldest_match(inbox, selection, self.0.clock.now()).await?;
        if found.is_none() {
            self.check_same_life(inbox).await?;
        }
        Ok(found)
    }

    /// An inbox that was deleted and opened again by new mail is not the one that was waited for.
    async fn check_same_life(&self, inbox: &Inbox) -> Result<(), ServiceError> {
        let present = self.0.store.live_inbox(&inbox.id, self.0.clock.now()).await?;
        let same = present.is_some_and(|present| present.created_at == inbox.created_at);
        if same { Ok(()) } else { Err(ServiceError::InboxNotFound) }
    }

    async fn park(&self, interest: &mut Interest, until: Instant) -> Result<(), ServiceError> {
        tokio::select! {
            () = interest.changed() => Ok(()),
            () = self.0.clock.sleep_until(until) => Ok(()),
            () = self.0.waits_end.cancelled() => Err(ServiceError::Stopping),
        }
    }
}

fn outcome(result: &Result<Message, ServiceError>) -> &'static str {
    match result {
        Ok(_) => "found",
        Err(ServiceError::Timeout | ServiceError::NoMatchingMessage) => "timeout",
        Err(ServiceError::InboxNotFound) => "inbox_ended",
        Err(ServiceError::Stopping) => "stopping",
        Err(_) => "failed",
    }
}
