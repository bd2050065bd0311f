//! Explains why a message did not arrive, from the state of the inbox, of similar inboxes and of SMTP.

use super::summary::Facts;
use super::{Caller, Service, ServiceError};
use crate::model::{
    Inbox, InboxEnd, InboxId, Latest, MessageFilter, RefusedMail, SendApisUse, SharedAddress, Similar, SmtpUse, Summary,
};
use crate::store::Selection;

/// Messages and refusals that are shown.
const SHOWN: usize = 10;
/// Similar inboxes that are shown.
const SIMILAR: usize = 5;
/// Maximum number of edits between a local part and a mistyped one.
const EDITS: usize = 2;

/// The explanation for a message that did not arrive.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// One sentence for people.
    pub summary: Summary,
    /// The inbox.
    pub inbox: Inbox,
    /// How it ended, if it has.
    pub ended: Option<InboxEnd>,
    /// The messages in it.
    pub messages: i64,
    /// The newest of them.
    pub latest: Vec<Latest>,
    /// The rejections since the inbox was created, newest first.
    pub refused: Vec<RefusedMail>,
    /// Other inboxes of the project that received mail since then, the most similar first.
    pub similar: Vec<Similar>,
    /// The use of SMTP.
    pub smtp: SmtpUse,
    /// The use of the APIs for sending.
    pub send_apis: SendApisUse,
}

impl Service {
    /// Explains why no message that matches `filter` has arrived. `smtp_address` is the SMTP server as callers know it.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended more than 30 days ago;
    /// [`ServiceError::InvalidAfter`].
    pub async fn explain(
        &self,
        caller: &Caller,
        id: &str,
        filter: &MessageFilter,
        smtp_address: &str,
    ) -> Result<Explanation, ServiceError> {
        let store = &self.0.store;
        let (id, now) = (InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?, self.0.clock.now());
        let found = store.inbox_or_end(caller.project, &id, now).await?;
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        let selection = match ended {
            None => self.selection(&inbox, filter).await?,
            Some(_) => Selection::default(),
        };
        let since = inbox.created_at;
        self.0.refusals.written().await;
        let latest = store.latest_messages(&inbox, &selection, SHOWN, now).await?;
        let messages = if ended.is_none() { store.message_count(&inbox).await? } else { 0 };
        let refused = store.refusals_of(caller.project, &id, self.0.default_project, since, SHOWN).await?;
        let similar = most_similar(&inbox, store.inboxes_with_mail(caller.project, since, now).await?);
        let watched = self.0.activity.at_all_nodes(store).await?;
        let last_refusal = store.last_refusal(caller.project, since).await?;
        let facts = Facts {
            address: inbox.address(self.mail_domain()),
            mail_domain: self.mail_domain(),
            inbox: &inbox,
            ended,
            latest: &latest,
            refused: &refused,
            similar: similar.first().map(|(distance, similar)| (*distance <= EDITS, similar)),
            last_refusal: last_refusal.as_ref(),
            watched,
            smtp_address,
            now,
        };
        let summary = facts.summary();
        let similar = similar.into_iter().map(|(_, similar)| similar).collect();
        let (smtp, send_apis) = (watched.used, watched.send_apis);
        Ok(Explanation { summary, inbox, ended, messages, latest, refused, similar, smtp, send_apis })
    }
}

/// The inboxes whose address was possibly meant, each with its distance: at most two edits, or any distance if incoming
/// mail created the inbox.
fn most_similar(inbox: &Inbox, others: Vec<Similar>) -> Vec<(usize, Similar)> {
    let address =
        |id: &InboxId, shared: Option<&SharedAddress>| shared.map_or_else(|| id.to_string(), SharedAddress::to_string);
    let own = address(&inbox.id, inbox.shared.as_ref());
    let others = others.into_iter().filter(|other| other.id != inbox.id);
    let mut similar: Vec<(usize, Similar)> = others
        .map(|other| (edits(&own, &address(&other.id, other.shared.as_ref())).min(EDITS + 1), other))
        .filter(|(distance, other)| *distance <= EDITS || other.opened_by_mail)
        .collect();
    // A stable sort: of inboxes with the same distance, those with the newest mail stay first.
    similar.sort_by_key(|(distance, _)| *distance);
    similar.truncate(SIMILAR);
    similar
}

/// The number of insertions, deletions and replacements that turn one text into the other.
fn edits(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (index, left) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, right) in other.chars().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
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
            ("", "abc", 3),
        ] {
            assert_eq!((edits(one, other), edits(other, one)), (distance, distance), "{one} {other}");
        }
    }
}
