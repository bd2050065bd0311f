//! Why waits failed: the story of each, as things were when the wait ended.
//!
//! The response of the wait is not delayed: it has only the id of the story, which is the id of the
//! wait. The story is composed when the journal is written, and kept there.
//!
//! A story changes once, if a matching message arrives just after its wait has ended: then this is
//! the cause.

use std::collections::HashSet;
use std::time::Duration;

use uuid::Uuid;

use super::explain::Question;
use super::{EntryFilter, MAX_WAIT, Service, ServiceError};
use crate::evidence::{Failure, NewEntry, Story, late};
use crate::model::{
    Inbox, InboxEnd, Latest, MessageFilter, Period, ProjectId, Timestamp, TotalUse, WaitEnd,
    WaitRecord,
};
use crate::store::StoreError;

/// A message that arrives within this time after a wait was late. A later one has nothing to do
/// with the wait.
pub(super) const LATE_WITHIN: Duration = MAX_WAIT;
/// The newest messages that are compared with a wait that has ended.
const MAX_COMPARED: usize = 20;
/// The stories of an inbox that are looked at.
const STORIES_OF_INBOX: usize = 100;
/// The age of the failures that the navigation counts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A wait that failed, and the use of SMTP at this time.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) wait: WaitRecord,
    inbox: Inbox,
    watched: TotalUse,
}

impl Service {
    /// Records why a wait failed. Returns the id of the story, unless there are too many.
    pub(super) fn keep_story(&self, wait: WaitRecord, inbox: &Inbox) -> Option<Uuid> {
        let id = wait.id;
        let draft = Draft {
            wait,
            inbox: inbox.clone(),
            watched: self.0.activity.at_this_node(),
        };
        self.0.journal.failed(draft).then_some(id)
    }

    /// The entry with the story of a wait, unless the wait goes on or was only one look. The other
    /// entries about its inbox are stored already.
    pub(super) async fn of_failure(&self, draft: Draft) -> Result<Vec<NewEntry>, ServiceError> {
        let Draft {
            wait,
            inbox,
            watched,
        } = draft;
        // With its other requests.
        let waits = self.recorded_waits(&inbox).await?;
        let wait = waits.with_id(wait.id).cloned().unwrap_or(wait);
        if wait.is_going_on_or_found() || wait.timeout.is_zero() {
            return Ok(Vec::new());
        }
        let period = Period::of_wait(&wait);
        let filter = wait.filter.clone();
        let watched = self
            .0
            .activity
            .and_other_nodes(self.store(), watched, period.until)
            .await?;
        let ended = match wait.end {
            Some((at, WaitEnd::InboxEnded)) => Some(self.end_of_inbox(&inbox, at).await?),
            _ => None,
        };
        let question = Question {
            inbox: &inbox,
            ended,
            end: wait.end.map(|(_, end)| end),
            filter: &filter,
            period,
            watched: Some(watched),
        };
        let (finding, evidence) = self.answer(question).await?;
        let label = self.store().label(&inbox).await?;
        let timeline = self
            .events_of((&inbox, ended), &waits, period.until)
            .await?;
        let failure = Failure {
            wait,
            label,
            finding,
        };
        Ok(vec![NewEntry::failed(Story {
            failure,
            evidence,
            timeline,
        })])
    }

    /// How an inbox ended that was not there at a time. One that has been created again since then
    /// had been deleted or has expired, and nobody knows which.
    async fn end_of_inbox(&self, inbox: &Inbox, at: Timestamp) -> Result<InboxEnd, StoreError> {
        let store = self.store();
        let now = self.now();
        let found = store.inbox_or_end(inbox.project, &inbox.id, now).await?;
        let same = found.filter(|(found, _)| found.created_at == inbox.created_at);
        Ok(same
            .and_then(|(_, ended)| ended)
            .unwrap_or(InboxEnd::Deleted(at)))
    }

    /// The failures that match a filter, newest first: at most `limit`.
    pub async fn failures(
        &self,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<Failure>, StoreError> {
        self.0.journal.written(filter.project).await;
        self.amend_stories(filter.project).await?;
        let found = self.found(filter, limit).await?;
        Ok(found.into_iter().map(|(_, failure)| failure).collect())
    }

    /// The number of waits of a project that failed in the last day, and after `looked_at`.
    pub async fn recent_failures(
        &self,
        project: ProjectId,
        looked_at: Option<Timestamp>,
    ) -> Result<i64, StoreError> {
        let day = self.now().before(DAY);
        let since = looked_at.map_or(day, |looked_at| day.max(looked_at));
        self.store().count_recorded::<Story>(project, since).await
    }

    /// The story with this id, in any project: the caller checks who may see it. `project` is that
    /// of a story that may still be in the queue, if it is known.
    pub async fn story(
        &self,
        id: Uuid,
        project: Option<ProjectId>,
    ) -> Result<Option<Story>, StoreError> {
        self.0.journal.written(project).await;
        self.amend_stories(project).await?;
        let kept_since = self.kept_since();
        let story: Option<Story> = self.store().recorded_with_key(&id.to_string()).await?;
        Ok(story.filter(|story| story.failure.ended_at() >= kept_since))
    }

    /// The ids of the stories of the waits on an inbox.
    pub async fn stories_of(&self, inbox: &Inbox) -> Result<HashSet<Uuid>, StoreError> {
        self.0.journal.written(Some(inbox.project)).await;
        let failures = self.failures_of(inbox).await?;
        Ok(failures.iter().map(|failure| failure.wait.id).collect())
    }

    /// The failures of an inbox, newest first.
    async fn failures_of(&self, inbox: &Inbox) -> Result<Vec<Failure>, StoreError> {
        let times = (self.kept_since().max(inbox.created_at), Timestamp::MAX);
        let store = self.store();
        let failures = store.about(inbox, times, STORIES_OF_INBOX).await?;
        let mut failures: Vec<Failure> = failures;
        failures.retain(|failure| failure.wait.inbox_created_at == inbox.created_at);
        Ok(failures)
    }

    /// When the wait of a story ended at the earliest.
    fn kept_since(&self) -> Timestamp {
        self.now().before(self.0.options.limits.keep_failures)
    }

    /// The story of the wait with this name on an inbox; without a name, of the latest that failed
    /// with this filter.
    pub(super) async fn kept_story(
        &self,
        inbox: &Inbox,
        name: Option<&str>,
        filter: &MessageFilter,
    ) -> Result<Option<Story>, StoreError> {
        let id = match name {
            Some(name) => WaitRecord::id_of(inbox, name),
            None => {
                let failures = self.failures_of(inbox).await?.into_iter();
                let mut same = failures.map(|failure| failure.wait).filter(|wait| {
                    // Who asks later does not say what only the client compared.
                    let client = wait.filter.client.clone();
                    let asked = MessageFilter {
                        client,
                        ..filter.clone()
                    };
                    let has_lost_inbox = matches!(wait.end, Some((_, WaitEnd::InboxEnded)));
                    wait.filter == asked || has_lost_inbox
                });
                let Some(wait) = same.next() else {
                    return Ok(None);
                };
                wait.id
            }
        };
        self.amend_stories(Some(inbox.project)).await?;
        self.store().recorded_with_key(&id.to_string()).await
    }

    /// Looks for messages that were late for waits that ended lately: of one project, or of all.
    pub(super) async fn amend_stories(&self, project: Option<ProjectId>) -> Result<(), StoreError> {
        let now = self.now();
        let store = self.store();
        let later = store
            .stories_with_later_mail(project, now.before(2 * LATE_WITHIN), now)
            .await?;
        for (key, until) in later {
            if self.0.journal.is_compared(&key, until) {
                continue;
            }
            if let Some(mut story) = store.recorded_with_key::<Story>(&key).await?
                && let Some(message) = self.late_message(&story.failure.wait).await?
            {
                let TotalUse {
                    used, send_apis, ..
                } = self.0.activity.at_all_nodes(store).await?;
                story.failure.finding = late(&story.failure, &message);
                story.evidence.messages += 1;
                story.evidence.latest.insert(0, message);
                (story.evidence.smtp, story.evidence.send_apis) = (used, send_apis);
                store.append(vec![NewEntry::failed(story)]).await?;
            }
            self.0.journal.compared(key, until);
        }
        Ok(())
    }

    /// The first matching message that arrived just after a wait had ended.
    async fn late_message(&self, wait: &WaitRecord) -> Result<Option<Latest>, StoreError> {
        let Some((ended_at, WaitEnd::Timeout)) = wait.end else {
            return Ok(None);
        };
        let now = self.now();
        let inbox = self.store().live_inbox(&wait.inbox, now).await?;
        let Some(inbox) = inbox.filter(|inbox| inbox.created_at == wait.inbox_created_at) else {
            return Ok(None);
        };
        let after = match self.cursor(&inbox, &wait.filter).await {
            Ok(after) => after,
            Err(ServiceError::Store(error)) => return Err(error),
            // The message of the cursor no longer exists.
            Err(_) => return Ok(None),
        };
        let until = ended_at.after(LATE_WITHIN).min(now);
        let latest = self
            .store()
            .latest_messages(&inbox, (&wait.filter, after), MAX_COMPARED, until)
            .await?;
        let is_late =
            |message: &Latest| message.missed_by.is_empty() && message.received_at > ended_at;
        Ok(latest
            .into_iter()
            .filter(is_late)
            .min_by_key(|message| message.received_at))
    }
}
