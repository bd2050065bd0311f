//! Keeps the story of each wait that times out: why no message arrived, as things were when the
//! wait ended.
//!
//! The response of the wait is not delayed: it has only the id of the story, which is the id of the
//! wait. The story is composed and stored in the background, through a queue of limited length in
//! which each project has its share. A reader can wait until the queued stories are stored.
//!
//! A story changes once, if a matching message arrives just after its wait has ended: then this is
//! the cause.

use std::collections::HashSet;
use std::sync::Weak;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::activity::TotalUse;
use super::barrier::{Barrier, BarrierWriter, barrier};
use super::explain::Question;
use super::quotas::{Quota, Quotas, in_turns};
use super::summary::named;
use super::{Inner, MAX_WAIT, Service, ServiceError};
use crate::model::{
    Cause, Failure, FailureFilter, Finding, Inbox, Latest, MessageFilter, Period, ProjectId, Story,
    Timestamp, WaitRecord, seconds, spoken, with_remedy,
};
use crate::store::StoreError;

/// Maximum number of stories in the queue, and of those of one project.
const MAX_QUEUED: usize = 1_024;
const MAX_QUEUED_OF_PROJECT: usize = 64;
/// Maximum number of stories that are stored together.
const MAX_BATCH: usize = 32;
/// The pause between two batches, so that deliveries are not delayed.
const PAUSE_BETWEEN_BATCHES: Duration = Duration::from_millis(200);
/// The pause between two looks for late messages.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// A message that arrives within this time after a wait was late. A later one has nothing to do
/// with the wait.
const LATE_WITHIN: Duration = MAX_WAIT;
/// The proposed timeout is this many times the time that the message took.
const MARGIN: u32 = 2;
/// The newest messages that are compared with a wait that has ended.
const MAX_COMPARED: usize = 20;
/// The age of the failures that the navigation counts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A wait that timed out, and the use of SMTP at this time.
#[derive(Debug)]
struct Draft {
    wait: WaitRecord,
    inbox: Inbox,
    watched: TotalUse,
}

impl Draft {
    fn quota(&self) -> [Quota<ProjectId>; 1] {
        [(self.wait.project, MAX_QUEUED_OF_PROJECT)]
    }
}

/// The queue of stories.
#[derive(Debug)]
pub(super) struct Recorder {
    queue: mpsc::Sender<Draft>,
    quotas: Quotas<ProjectId>,
    barrier: Barrier,
}

/// The other end of the queue.
pub(super) struct Composer {
    drafts: mpsc::Receiver<Draft>,
    quotas: Quotas<ProjectId>,
    writing: BarrierWriter,
}

pub(super) fn queue() -> (Recorder, Composer) {
    let (queue, drafts) = mpsc::channel(MAX_QUEUED);
    let (barrier, writing) = barrier();
    let quotas = Quotas::new();
    (
        Recorder {
            queue,
            quotas: quotas.clone(),
            barrier,
        },
        Composer {
            drafts,
            quotas,
            writing,
        },
    )
}

impl Recorder {
    /// Queues a draft. Returns whether there was room.
    fn add(&self, draft: Draft) -> bool {
        let share = draft.quota();
        if !self.quotas.take(&share) {
            return false;
        }
        let is_added = self.queue.try_send(draft).is_ok();
        if !is_added {
            self.quotas.withdraw(&share);
        }
        is_added
    }

    /// Returns when the stories of a project, or of all, that this node has queued so far are
    /// stored, or could not be, or after a second.
    pub(super) async fn written(&self, project: Option<ProjectId>) {
        self.barrier
            .wait(&self.quotas, |owner| {
                project.is_none_or(|project| project == *owner)
            })
            .await;
    }
}

impl Composer {
    /// Composes and stores stories until the service is dropped. After that, looks for late
    /// messages for a while, so that they are found even if nobody reads the story before the inbox
    /// ends.
    pub(super) async fn run(mut self, service: Weak<Inner>) {
        let mut drafts = Vec::new();
        let mut watch_until = Instant::now();
        loop {
            let is_watching = Instant::now() < watch_until;
            let pause = if is_watching {
                PAUSE_BETWEEN_LOOKS
            } else {
                Duration::MAX
            };
            let ended = self.receive(&mut drafts, pause).await;
            let Some(service) = service.upgrade().map(Service).filter(|_| !ended) else {
                return;
            };
            if drafts.is_empty() {
                if let Err(error) = service.amend_stories(None).await {
                    tracing::debug!(%error, "cannot look for late messages");
                }
                continue;
            }
            watch_until = Instant::now() + 2 * LATE_WITHIN;
            in_turns(&mut drafts, |draft| draft.wait.project);
            self.store(
                &service,
                drafts.drain(..drafts.len().min(MAX_BATCH)).collect(),
            )
            .await;
            drop(service);
            self.writing.pause(PAUSE_BETWEEN_BATCHES).await;
        }
    }

    /// Takes all drafts from the queue; if there are none at all, waits for the first, at most for
    /// `pause`. Returns whether there will be no others.
    async fn receive(&mut self, drafts: &mut Vec<Draft>, pause: Duration) -> bool {
        while let Ok(draft) = self.drafts.try_recv() {
            drafts.push(draft);
        }
        drafts.is_empty()
            && timeout(pause, self.drafts.recv_many(drafts, MAX_QUEUED)).await == Ok(0)
    }

    async fn store(&self, service: &Service, batch: Vec<Draft>) {
        let quotas: Vec<_> = batch.iter().flat_map(Draft::quota).collect();
        if let Err(error) = service.store_stories(batch).await {
            tracing::warn!(%error, "cannot store why waits timed out");
        }
        self.quotas.give_back(&quotas);
        self.writing.done();
    }
}

impl Service {
    /// Queues the story of a wait that timed out. Returns its id, unless there are too many.
    pub(super) fn keep_story(&self, wait: WaitRecord, inbox: &Inbox) -> Option<Uuid> {
        let id = wait.id;
        let draft = Draft {
            wait,
            inbox: inbox.clone(),
            watched: self.0.activity.at_this_node(),
        };
        self.0.stories.add(draft).then_some(id)
    }

    async fn store_stories(&self, drafts: Vec<Draft>) -> Result<(), StoreError> {
        let mut stories = Vec::with_capacity(drafts.len());
        for draft in drafts {
            match self.compose_story(draft).await {
                Ok(story) => stories.push(story),
                Err(ServiceError::Store(error)) => {
                    tracing::warn!(%error, "cannot keep why a wait timed out");
                }
                // Its inbox or the message of its cursor no longer exists.
                Err(error) => tracing::debug!(%error, "cannot explain a wait"),
            }
        }
        self.0.store.add_stories(&stories).await
    }

    async fn compose_story(&self, draft: Draft) -> Result<Story, ServiceError> {
        let Draft {
            wait,
            inbox,
            watched,
        } = draft;
        let period = Period::of_wait(&wait);
        let filter = wait.filter.clone();
        let watched = self
            .0
            .activity
            .and_other_nodes(&self.0.store, watched, period.until)
            .await?;
        let question = Question {
            inbox: &inbox,
            ended: None,
            filter: &filter,
            period,
            watched: Some(watched),
        };
        let (finding, evidence) = self.answer(&question).await?;
        let label = self.0.store.label(&inbox).await?;
        let timeline = self
            .events_of(&inbox, period.until)
            .await?
            .into_iter()
            .map(|(_, event)| event)
            .collect();
        let failure = Failure {
            wait,
            label,
            finding,
            ended: None,
        };
        Ok(Story {
            failure,
            evidence,
            timeline,
        })
    }

    /// The failures that match a filter, newest first: at most `limit`.
    pub async fn failures(
        &self,
        filter: &FailureFilter,
        limit: usize,
    ) -> Result<Vec<Failure>, StoreError> {
        self.0.stories.written(filter.project).await;
        self.amend_stories(filter.project).await?;
        self.0
            .store
            .failures(filter, self.mail_domain(), limit)
            .await
    }

    /// The groups of a project's failures since `since`: the key, the number of failures, and when
    /// the last wait ended. The group with the latest failure first.
    pub async fn failure_groups(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<Vec<(String, i64, Timestamp)>, StoreError> {
        self.0.store.failure_groups(project, since).await
    }

    /// The number of waits of a project that timed out in the last day.
    pub async fn recent_failures(&self, project: ProjectId) -> Result<i64, StoreError> {
        self.0
            .store
            .count_failures(project, self.0.clock.now().before(DAY))
            .await
    }

    /// The story with this id, in any project: the caller checks who may see it. `project` is that
    /// of a story that may still be in the queue, if it is known.
    pub async fn story(
        &self,
        id: Uuid,
        project: Option<ProjectId>,
    ) -> Result<Option<Story>, StoreError> {
        self.0.stories.written(project).await;
        let kept_since = self.kept_since();
        let Some(story) = self
            .0
            .store
            .story(id)
            .await?
            .filter(|story| story.failure.ended_at() >= kept_since)
        else {
            return Ok(None);
        };
        self.amend_stories(Some(story.failure.wait.project)).await?;
        self.0.store.story(id).await
    }

    /// The ids of the stories of the waits on an inbox.
    pub async fn stories_of(&self, inbox: &Inbox) -> Result<HashSet<Uuid>, StoreError> {
        self.0.stories.written(Some(inbox.project)).await;
        self.0.store.stories_of(inbox, self.kept_since()).await
    }

    /// When the wait of a story ended at the earliest.
    fn kept_since(&self) -> Timestamp {
        self.0
            .clock
            .now()
            .before(self.0.options.limits.keep_failures)
    }

    /// The story of the latest wait on an inbox with this filter that timed out.
    pub(super) async fn kept_story(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
    ) -> Result<Option<Story>, StoreError> {
        self.0.stories.written(Some(inbox.project)).await;
        let Some(id) = self
            .0
            .store
            .latest_failure(inbox, filter, self.kept_since())
            .await?
        else {
            return Ok(None);
        };
        self.amend_stories(Some(inbox.project)).await?;
        self.0.store.story(id).await
    }

    /// Looks for messages that were late for waits that ended lately: of one project, or of all.
    pub(super) async fn amend_stories(&self, project: Option<ProjectId>) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        let later = self
            .0
            .store
            .stories_with_later_mail(project, now.before(2 * LATE_WITHIN), now)
            .await?;
        for (id, until) in later {
            let Some(mut story) = self.0.store.story(id).await? else {
                continue;
            };
            let late = self.late_message(&story.failure.wait).await?;
            if let Some(message) = &late {
                story.failure.finding = late_finding(&story.failure, message);
                story.evidence.latest.insert(0, message.clone());
            }
            self.0
                .store
                .amend_story(id, until, late.map(|_| &story))
                .await?;
        }
        Ok(())
    }

    /// The first matching message that arrived just after a wait had ended.
    async fn late_message(&self, wait: &WaitRecord) -> Result<Option<Latest>, StoreError> {
        let (Some((ended_at, _)), now) = (wait.end, self.0.clock.now()) else {
            return Ok(None);
        };
        let Some(inbox) = self.0.store.live_inbox(&wait.inbox, now).await? else {
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

fn late_finding(failure: &Failure, message: &Latest) -> Finding {
    let late_by = message.received_at.since(failure.ended_at());
    let took = message.received_at.since(failure.wait.started_at);
    // Rounded up to five seconds.
    let proposed = Duration::from_secs((took * MARGIN).as_secs().div_ceil(5).max(1) * 5);
    let late_by = precise(late_by);
    let message = named(message);
    // The client's own filters have not been compared with it.
    let which = match failure.wait.filter.client {
        Some(_) => "A message",
        None => "A matching message",
    };
    let text = format!("{which} arrived {late_by} after the wait had ended: {message}.");
    let remedy = format!(
        "Use a timeout of {} s instead of {}: a wait ends as soon as the message arrives.",
        proposed.as_secs(),
        seconds(failure.wait.timeout)
    );
    Finding {
        cause: Cause::Late,
        marked: with_remedy(&text, &remedy),
        origin: String::new(),
    }
}

/// A duration as text, in milliseconds if it is short.
fn precise(duration: Duration) -> String {
    if duration.as_secs() < 2 {
        format!("{} ms", duration.as_millis())
    } else {
        spoken(duration)
    }
}
