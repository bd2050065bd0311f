//! Explains why a message did not arrive, from the state of the inbox, of similar inboxes and of
//! SMTP.

use super::activity::TotalUse;
use super::summary::Facts;
use super::{Caller, Service, ServiceError};
use crate::model::{
    Cause, Evidence, Finding, Inbox, InboxEnd, InboxId, Latest, MessageFilter, MessageId, Part,
    Period, ProjectId, Reading, RefusedMail, SharedAddress, Similar, Summary,
};
use crate::store::StoreError;

/// Messages and refusals that are shown.
const MAX_LISTED: usize = 10;
/// Rejections in the project that are compared with its clients.
const MAX_COMPARED: usize = 100;
/// Similar inboxes that are shown.
const SIMILAR: usize = 5;
/// Maximum number of edits between a local part and a mistyped one.
const EDITS: usize = 2;

/// The explanation for a message that did not arrive.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// One sentence for people.
    pub summary: Summary,
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
    pub(super) filter: &'a MessageFilter,
    /// What happened before or later does not count.
    pub(super) period: Period,
    /// The use of SMTP at that time; `None`: now.
    pub(super) watched: Option<TotalUse>,
}

impl Service {
    /// Explains why no message that matches `filter` has arrived at the inbox with the id or
    /// address `name`. If a wait on the inbox with this filter timed out, the cause is that of the
    /// latest one's story. `smtp_address` is the SMTP server as callers know it.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended
    /// more than 30 days ago; [`ServiceError::InvalidAfter`].
    pub async fn explain(
        &self,
        caller: &Caller,
        name: &str,
        filter: &MessageFilter,
        smtp_address: &str,
    ) -> Result<Explanation, ServiceError> {
        let id = self.id_of_name(caller, name).await?;
        let now = self.0.clock.now();
        let found = self.0.store.inbox_or_end(caller.project, &id, now).await?;
        let found = found.filter(|(inbox, _)| !name.contains('@') || self.is_at(inbox, name));
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        self.0.journal.written(Some(caller.project)).await;
        let (finding, evidence, ended_at) = match self.kept_story(&inbox, filter).await? {
            Some(story) => {
                let ended_at = story.failure.ended_at();
                (story.failure.finding, story.evidence, Some(ended_at))
            }
            None => {
                let period = Period::of_inbox(&inbox, now);
                let question = Question {
                    inbox: &inbox,
                    ended,
                    filter,
                    period,
                    watched: None,
                };
                let (finding, evidence) = self.answer(&question).await?;
                (finding, evidence, None)
            }
        };
        let summary = Summary::new(
            &finding.marked,
            Reading {
                now,
                ended_at,
                smtp_address,
            },
        );
        Ok(Explanation {
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
        question: &Question<'_>,
    ) -> Result<(Finding, Evidence), ServiceError> {
        let Question {
            inbox,
            ended,
            filter,
            period,
            watched,
        } = question;
        let store = &self.0.store;
        let project = inbox.project;
        let default = self.0.default_project;
        let nothing = MessageFilter::default();
        let compared = if ended.is_none() { filter } else { &nothing };
        let after = self.cursor(inbox, compared).await?;
        let mut latest = store
            .latest_messages(inbox, (compared, after), MAX_LISTED, period.until)
            .await?;
        if let (Some(_), Some(began)) = (&filter.client, &filter.began) {
            let began = MessageId::parse(began).ok();
            let had = |message: &&mut Latest| began.is_none_or(|began| message.id > began);
            for message in latest.iter_mut().filter(had) {
                if message.missed_by == ["after"] {
                    message.missed_by = vec!["client"];
                }
            }
        }
        let messages = if ended.is_none() {
            store.message_count_at(inbox, period.until).await?
        } else {
            0
        };
        let mut refused = store
            .rejections_of(project, &inbox.id, default, *period, MAX_COMPARED)
            .await?;
        let last_refusals = store
            .last_rejections(project, *period, MAX_COMPARED)
            .await?;
        let own_clients = self
            .own_clients(project, *period, refused.iter().chain(&last_refusals))
            .await?;
        let is_own_client = |refused: &RefusedMail| {
            refused.authenticated || own_clients.contains(&refused.client())
        };
        // A stable sort: of the same rank, the newest stay first.
        refused.sort_by_key(|refused| rank(refused, *period, is_own_client(refused)));
        let similar = most_similar(inbox, store.inboxes_with_mail(project, *period).await?);
        let watched = match watched {
            Some(watched) => *watched,
            None => self.0.activity.at_all_nodes(store).await?,
        };
        // While no client is known, any client may be the application. Otherwise strangers explain
        // nothing.
        let own_refusal = last_refusals.iter().find(|refused| is_own_client(refused));
        let last_refusal =
            own_refusal.or_else(|| last_refusals.first().filter(|_| own_clients.is_empty()));
        let facts = Facts {
            address: inbox.address(self.mail_domain()),
            mail_domain: self.mail_domain(),
            inbox,
            period: *period,
            ended: *ended,
            latest: &latest,
            refused: &refused,
            similar: similar
                .first()
                .map(|(distance, similar)| (*distance <= EDITS, similar)),
            last_refusal,
            watched,
            filter,
            is_own_client: &is_own_client,
        };
        let finding = facts.finding();
        refused.truncate(MAX_LISTED);
        let similar = similar.into_iter().map(|(_, similar)| similar).collect();
        let smtp = watched.used;
        let send_apis = watched.send_apis;
        Ok((
            finding,
            Evidence {
                messages,
                latest,
                refused,
                similar,
                smtp,
                send_apis,
            },
        ))
    }

    /// The addresses of the clients that had sent mail to inboxes of the project, if a rejection
    /// raises the question.
    async fn own_clients<'a>(
        &self,
        project: ProjectId,
        period: Period,
        mut refused: impl Iterator<Item = &'a RefusedMail>,
    ) -> Result<Vec<String>, StoreError> {
        if refused.next().is_some() {
            self.0.store.clients_of(project, period.until).await
        } else {
            Ok(Vec::new())
        }
    }
}

/// The place of a rejection in the evidence: of mail to the inbox during the wait or just before
/// it, of the project's clients during the wait, older ones of both, and all others.
fn rank(refused: &RefusedMail, period: Period, is_own_client: bool) -> usize {
    let names_inbox = refused.inbox.is_some();
    match period.part_of(refused.refused_at) {
        Part::Wait if names_inbox => 0,
        Part::JustBefore if names_inbox => 1,
        Part::Wait if is_own_client => 2,
        _ if names_inbox || is_own_client => 3,
        _ => 4,
    }
}

/// The inboxes whose address was possibly meant, each with its distance: at most two edits, or any
/// distance if incoming mail created the inbox.
fn most_similar(inbox: &Inbox, others: Vec<Similar>) -> Vec<(usize, Similar)> {
    let address = |id: &InboxId, shared: Option<&SharedAddress>| {
        shared.map_or_else(|| id.to_string(), SharedAddress::to_string)
    };
    let characters = |text: String| text.chars().collect::<Vec<_>>();
    let own = characters(address(&inbox.id, inbox.shared.as_ref()));
    let others = others.into_iter().filter(|other| other.id != inbox.id);
    let mut similar: Vec<(usize, Similar)> = others
        .map(|other| {
            (
                edits(
                    &own,
                    &characters(address(&other.id, other.shared.as_ref())),
                    EDITS,
                ),
                other,
            )
        })
        .filter(|(distance, other)| *distance <= EDITS || other.opened_by_mail)
        .collect();
    // A stable sort: of inboxes with the same distance, those with the newest mail stay first.
    similar.sort_by_key(|(distance, _)| *distance);
    similar.truncate(SIMILAR);
    similar
}

/// The number of insertions, deletions and replacements that turn one text into the other, or
/// `most + 1` if it is more than `most`. The time grows with the length of the texts, and not with
/// its square: there may be many long ones.
fn edits(one: &[char], other: &[char], most: usize) -> usize {
    let same = one
        .iter()
        .zip(other)
        .take_while(|(left, right)| left == right)
        .count();
    match (&one[same..], &other[same..]) {
        ([], rest) | (rest, []) => rest.len().min(most + 1),
        _ if most == 0 => 1,
        (one @ [_, one_rest @ ..], other @ [_, other_rest @ ..]) => {
            let replaced = edits(one_rest, other_rest, most - 1);
            1 + replaced
                .min(edits(one_rest, other, most - 1))
                .min(edits(one, other_rest, most - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (one, other, distance) in [
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("abc", "xabc", 1),
            ("abc", "acb", 2),
            ("abcd", "bcde", 2),
            ("é", "e", 1),
            ("", "abc", 3),
            ("abcdef", "uvwxyz", 3),
        ] {
            let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<_>>());
            let counted = (edits(&one, &other, EDITS), edits(&other, &one, EDITS));
            assert_eq!(counted, (distance, distance), "{one:?} {other:?}");
        }
    }

    #[test]
    fn long_texts_are_compared_in_linear_time() {
        let mut one = vec!['a'; 1_000_000];
        let mut other = vec!['a'; 1_000_000];
        (one[700_000], other[300_000]) = ('b', 'b');
        assert_eq!(edits(&one, &other, EDITS), 2);
        other[500_000] = 'c';
        assert_eq!(edits(&one, &other, EDITS), 3);
    }
}
