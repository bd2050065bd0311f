//! Why waits timed out: the story of each, as things were when the wait ended.
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
use super::{MAX_WAIT, Service, ServiceError};
use crate::evidence::{Cause, EntryFilter, Failure, FailureFilter, NewEntry, Story, Told, late};
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

/// A wait that timed out, and the use of SMTP at this time.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) wait: WaitRecord,
    inbox: Inbox,
    watched: TotalUse,
}

impl Service {
    /// Records why a wait timed out. Returns the id of the story, unless there are too many.
    pub(super) fn keep_story(&self, wait: WaitRecord, inbox: &Inbox) -> Option<Uuid> {
        let id = wait.id;
        let draft = Draft {
            wait,
            inbox: inbox.clone(),
            watched: self.0.activity.at_this_node(),
        };
        self.0.journal.timed_out(draft).then_some(id)
    }

    /// The entry with the story of a wait, unless the wait goes on. The other entries about its inbox
    /// are stored already.
    pub(super) async fn story_of(&self, draft: Draft) -> Option<NewEntry> {
        match self.compose_story(draft).await {
            Ok(story) => return story.map(NewEntry::failed),
            Err(ServiceError::Store(error)) => {
                tracing::warn!(%error, "cannot keep why a wait timed out");
            }
            // Its inbox or the message of its cursor no longer exists.
            Err(error) => tracing::debug!(%error, "cannot explain a wait"),
        }
        None
    }

    async fn compose_story(&self, draft: Draft) -> Result<Option<Story>, ServiceError> {
        let Draft {
            wait,
            inbox,
            watched,
        } = draft;
        // With its other requests.
        let waits = self.recorded_waits(&inbox).await?;
        let wait = waits.with_id(wait.id).cloned().unwrap_or(wait);
        if wait.is_going_on_or_found() {
            return Ok(None);
        }
        let period = Period::of_wait(&wait);
        let filter = wait.filter.clone();
        let watched = self
            .0
            .activity
            .and_other_nodes(&self.0.store, watched, period.until)
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
        let label = self.0.store.label(&inbox).await?;
        let timeline = self
            .events_of((&inbox, ended), &waits, period.until)
            .await?
            .into_iter()
            .map(|(_, event)| event)
            .collect();
        let failure = Failure {
            wait,
            label,
            finding,
        };
        Ok(Some(Story {
            failure,
            evidence,
            timeline,
        }))
    }

    /// How an inbox ended that was not there at a time. One that has been created again since then
    /// had been deleted or has expired, and nobody knows which.
    async fn end_of_inbox(&self, inbox: &Inbox, at: Timestamp) -> Result<InboxEnd, StoreError> {
        let store = &self.0.store;
        let now = self.0.clock.now();
        let found = store.inbox_or_end(inbox.project, &inbox.id, now).await?;
        let same = found.filter(|(found, _)| found.created_at == inbox.created_at);
        Ok(same
            .and_then(|(_, ended)| ended)
            .unwrap_or(InboxEnd::Deleted(at)))
    }

    /// The failures that match a filter, newest first: at most `limit`.
    pub async fn failures(
        &self,
        filter: &FailureFilter,
        limit: usize,
    ) -> Result<Vec<Failure>, StoreError> {
        self.0.journal.written(filter.project).await;
        self.amend_stories(filter.project).await?;
        let selected = EntryFilter {
            project: filter.project,
            word: filter.cause.map_or("", Cause::as_str),
            since: filter.since.unwrap_or(Timestamp::from_millis(0)),
            before: filter.before.unwrap_or(Timestamp::from_millis(i64::MAX)),
        };
        let has_text = |told: &Told, is_in: &dyn Fn(&str) -> bool| {
            let failure = &told.failure;
            is_in(&failure.address(self.mail_domain()))
                || failure.label.as_deref().is_some_and(is_in)
        };
        let found = self
            .with_text(selected, (&filter.text, has_text), limit)
            .await?;
        Ok(found.into_iter().map(|(_, told)| told.failure).collect())
    }

    /// The number of waits of a project that timed out in the last day, and after `looked_at`.
    pub async fn recent_failures(
        &self,
        project: ProjectId,
        looked_at: Option<Timestamp>,
    ) -> Result<i64, StoreError> {
        let day = self.0.clock.now().before(DAY);
        let since = looked_at.map_or(day, |looked_at| day.max(looked_at));
        self.0.store.count_recorded::<Story>(project, since).await
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
        let story: Option<Story> = self.0.store.recorded_with_key(&id.to_string()).await?;
        Ok(story.filter(|story| story.failure.ended_at() >= kept_since))
    }

    /// The ids of the stories of the waits on an inbox.
    pub async fn stories_of(&self, inbox: &Inbox) -> Result<HashSet<Uuid>, StoreError> {
        self.0.journal.written(Some(inbox.project)).await;
        let told = self.told_of(inbox).await?;
        Ok(told.into_iter().map(|told| told.failure.wait.id).collect())
    }

    /// The failures of an inbox, newest first.
    async fn told_of(&self, inbox: &Inbox) -> Result<Vec<Told>, StoreError> {
        let since = self.kept_since().max(inbox.created_at);
        let times = (since, Timestamp::from_millis(i64::MAX));
        let store = &self.0.store;
        let mut told: Vec<Told> = store
            .recorded_about(inbox.project, inbox.id.as_str(), times, STORIES_OF_INBOX)
            .await?;
        told.retain(|told| told.failure.wait.inbox_created_at == inbox.created_at);
        Ok(told)
    }

    /// When the wait of a story ended at the earliest.
    fn kept_since(&self) -> Timestamp {
        self.0
            .clock
            .now()
            .before(self.0.options.limits.keep_failures)
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
                let told = self.told_of(inbox).await?.into_iter();
                let mut same = told.map(|told| told.failure.wait).filter(|wait| {
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
        self.0.store.recorded_with_key(&id.to_string()).await
    }

    /// Looks for messages that were late for waits that ended lately: of one project, or of all.
    pub(super) async fn amend_stories(&self, project: Option<ProjectId>) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        let store = &self.0.store;
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
        let now = self.0.clock.now();
        let inbox = self.0.store.live_inbox(&wait.inbox, now).await?;
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
            .0
            .store
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
