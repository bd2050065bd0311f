//! Explains why a message did not arrive: reads the facts about the inbox, other inboxes and SMTP,
//! from which `evidence` finds the cause.

use super::{Caller, Service, ServiceError};
use crate::evidence::{Cause, Evidence, Facts, Finding, Reading, Sentence, report};
use crate::model::{Inbox, InboxEnd, MessageFilter, Period, RefusedMail, TotalUse, WaitEnd};

/// Messages that are compared with the filters.
const MAX_LISTED: usize = 10;
/// Rejections in the project that are compared with its clients.
const MAX_COMPARED: usize = 100;

/// The explanation for a message that did not arrive.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// One sentence for people.
    pub summary: Sentence,
    /// The sentence with what arrived and what was rejected, as clients print it.
    pub report: String,
    pub cause: Cause,
    pub inbox: Inbox,
    /// How it ended, if it has.
    pub ended: Option<InboxEnd>,
    pub evidence: Evidence,
}

/// What an explanation is about.
pub(super) struct Question<'a> {
    pub(super) inbox: &'a Inbox,
    pub(super) ended: Option<InboxEnd>,
    /// How the wait ended, if there was one.
    pub(super) end: Option<WaitEnd>,
    pub(super) filter: &'a MessageFilter,
    /// What happened before or later does not count.
    pub(super) period: Period,
    /// The use of SMTP at that time; `None`: now.
    pub(super) watched: Option<TotalUse>,
}

impl Service {
    /// Explains why no message that matches `filter` has arrived at the inbox with the id or
    /// address `name`. If a wait with this name, or the latest with this filter, failed, the cause is
    /// that of its story. `smtp_address` is the SMTP server as callers know it.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended
    /// more than 30 days ago; [`ServiceError::InvalidAfter`].
    pub async fn explain(
        &self,
        caller: &Caller,
        name: &str,
        (wait, filter): (Option<&str>, &MessageFilter),
        smtp_address: &str,
    ) -> Result<Explanation, ServiceError> {
        let id = self.id_of_name(caller, name).await?;
        let now = self.now();
        let found = self.store().inbox_or_end(caller.project, &id, now).await?;
        let found = found.filter(|(inbox, _)| !name.contains('@') || self.is_at(inbox, name));
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        self.0.journal.written(Some(caller.project)).await;
        let (finding, evidence, ended_at) = match self.kept_story(&inbox, wait, filter).await? {
            Some(story) => {
                let ended_at = story.failure.ended_at();
                (story.failure.finding, story.evidence, Some(ended_at))
            }
            None => {
                let until = ended.map_or(now, |(InboxEnd::Expired(at) | InboxEnd::Deleted(at))| at);
                let period = Period::of_inbox(&inbox, until);
                let question = Question {
                    inbox: &inbox,
                    ended,
                    end: None,
                    filter,
                    period,
                    watched: None,
                };
                let (finding, evidence) = self.answer(question).await?;
                (finding, evidence, None)
            }
        };
        let summary = finding.sentence.read(Reading {
            now,
            ended_at,
            smtp_address,
        });
        Ok(Explanation {
            report: report(&summary, &evidence, filter, self.mail_domain()),
            summary,
            cause: finding.cause,
            inbox,
            ended,
            evidence,
        })
    }

    /// The cause, and the evidence for it.
    pub(super) async fn answer(
        &self,
        question: Question<'_>,
    ) -> Result<(Finding, Evidence), ServiceError> {
        let Question {
            inbox,
            ended,
            end,
            filter,
            period,
            watched,
        } = question;
        let store = self.store();
        let project = inbox.project;
        let nothing = MessageFilter::default();
        let compared = if ended.is_none() { filter } else { &nothing };
        let after = self.cursor(inbox, compared).await?;
        let latest = store
            .latest_messages(inbox, (compared, after), MAX_LISTED, period.until)
            .await?;
        let messages = if ended.is_none() {
            store.message_count_at(inbox, period.until).await?
        } else {
            0
        };
        let refused = store
            .rejections_of(inbox, self.0.default_project, period, MAX_COMPARED)
            .await?;
        let times = (period.since, period.until);
        let in_project = store.recorded(Some(project), "", times, MAX_COMPARED);
        let in_project: Vec<(_, RefusedMail)> = in_project.await?;
        let refused_in_project: Vec<_> = in_project.into_iter().map(|(_, one)| one).collect();
        let own_clients = match refused.is_empty() && refused_in_project.is_empty() {
            true => Vec::new(),
            false => store.clients_of(project, period.until).await?,
        };
        let facts = Facts {
            server: self.server(),
            inbox,
            period,
            ended,
            end,
            filter,
            messages,
            latest,
            refused,
            refused_in_project,
            last_session: self.sessions_of(inbox, period.until).await?.pop(),
            own_clients,
            with_mail: store.inboxes_with_mail(project, period).await?,
            watched: match watched {
                Some(watched) => watched,
                None => self.0.activity.at_all_nodes(store).await?,
            },
        };
        Ok(facts.decide())
    }
}
