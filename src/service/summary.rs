//! The sentence that explains why a message did not arrive: the first cause that applies.

use std::time::Duration;

use super::activity::TotalUse;
use super::remedy;
use crate::config::DEFAULT_MAIL_DOMAIN;
use crate::model::{Domain, Inbox, InboxEnd, Latest, RefusalReason, RefusedMail, Similar, Summary, Timestamp, quoted};

/// Maximum number of messages that the sentence lists.
const NAMED: usize = 3;
/// Top-level domains that no address outside tests has.
const RESERVED: [&str; 5] = ["test", "example", "invalid", "localhost", "local"];
/// Maximum number of characters of a subject in the sentence.
const SUBJECT_CHARACTERS: usize = 80;

/// What the sentence is based on.
pub(super) struct Facts<'a> {
    pub(super) address: String,
    pub(super) mail_domain: &'a Domain,
    pub(super) inbox: &'a Inbox,
    pub(super) ended: Option<InboxEnd>,
    pub(super) latest: &'a [Latest],
    pub(super) refused: &'a [RefusedMail],
    /// The most similar inbox that received mail, and whether its name is only a few edits away.
    pub(super) similar: Option<(bool, &'a Similar)>,
    /// The newest refusal in the project, for any recipient.
    pub(super) last_refusal: Option<&'a RefusedMail>,
    pub(super) watched: TotalUse,
    pub(super) smtp_address: &'a str,
    pub(super) now: Timestamp,
}

impl Facts<'_> {
    pub(super) fn summary(&self) -> Summary {
        let text = self
            .end()
            .or_else(|| self.later_refusal())
            .or_else(|| self.messages())
            .or_else(|| self.refusal())
            .or_else(|| self.neighbour())
            .or_else(|| self.failed_session())
            .or_else(|| self.session_without_mail())
            .or_else(|| self.other_mail())
            .unwrap_or_else(|| self.silence());
        Summary::new(&text)
    }

    fn end(&self) -> Option<String> {
        let address = &self.address;
        Some(match self.ended? {
            InboxEnd::Expired(at) => format!("The inbox {address} expired {} ago.", self.ago(at)),
            InboxEnd::Deleted(at) => format!("The inbox {address} was deleted {} ago.", self.ago(at)),
        })
    }

    fn messages(&self) -> Option<String> {
        if let Some(message) = self.latest.iter().find(|message| message.missed_by.is_empty()) {
            let ago = self.ago(message.received_at);
            return Some(format!("A matching message is in the inbox: {}, received {ago} ago.", named(message)));
        }
        let first = self.latest.first()?;
        let mut filters = first.missed_by.clone();
        for message in self.latest {
            filters.extend(message.missed_by.iter().filter(|filter| !first.missed_by.contains(filter)));
        }
        filters.sort_unstable();
        filters.dedup();
        let filters = filters.join(", ");
        let messages = self.latest.iter().take(NAMED).map(named).collect::<Vec<_>>().join(", ");
        let more = if self.latest.len() > NAMED { " and others" } else { "" };
        let arrived = match self.latest.len() {
            1 => "A message arrived, but it does not match",
            _ => "Messages arrived, but none matches",
        };
        Some(format!("{arrived} the filters ({filters}): {messages}{more}."))
    }

    /// A rejection after the message of the cursor, which excludes all messages.
    fn later_refusal(&self) -> Option<String> {
        let newest = self.latest.first().filter(|newest| newest.missed_by.contains(&"after"))?;
        self.refusal_since(newest.received_at)
    }

    fn refusal(&self) -> Option<String> {
        self.refusal_since(self.inbox.created_at)
    }

    fn refusal_since(&self, since: Timestamp) -> Option<String> {
        let mut refused = self.refused.iter().filter(|refused| refused.refused_at >= since);
        let refused = refused.find(|refused| refused.inbox.as_ref() == Some(&self.inbox.id))?;
        let recipient = quoted(refused.recipient_address());
        let (ago, reply, flag) = (self.ago(refused.refused_at), &refused.reply, missing_flag(refused));
        Some(format!("Mail to {recipient} was rejected {ago} ago: {reply}{flag}"))
    }

    fn neighbour(&self) -> Option<String> {
        let (is_close, similar) = self.similar?;
        let other = quoted(&similar.address(self.mail_domain));
        let (address, ago) = (&self.address, self.ago(similar.last_received_at));
        Some(if is_close {
            format!("No message arrived for {address}, but one arrived for {other} {ago} ago. Is the address mistyped?")
        } else {
            format!(
                "No message arrived for {address}, but {ago} ago a message created the inbox {other}. \
                 Does the application use that address?"
            )
        })
    }

    /// A session that failed before its client could name a recipient, unless mail was rejected after it.
    fn failed_session(&self) -> Option<String> {
        let failed = self.refused.iter().find(|refused| refused.inbox.is_none() && refused.reason.ends_session())?;
        let is_last =
            self.last_refusal.is_none_or(|last| last.recipient.is_empty() || last.refused_at < failed.refused_at);
        is_last.then(|| self.session(failed))
    }

    /// A session without mail and without an error, if there was no mail at all.
    fn session_without_mail(&self) -> Option<String> {
        let was_mail = self.watched.used.last_message_at.is_some_and(|at| at >= self.inbox.created_at);
        let was_rejected = self.last_refusal.is_some_and(|refused| !refused.recipient.is_empty());
        let is_idle = |refused: &&RefusedMail| matches!(refused.reason, RefusalReason::Session(_));
        let session = self.refused.iter().find(is_idle).filter(|_| !was_mail && !was_rejected)?;
        Some(self.session(session))
    }

    fn session(&self, refused: &RefusedMail) -> String {
        let RefusedMail { reply, refused_at, .. } = refused;
        let (client, ago, address) = (refused.client(), self.ago(*refused_at), &self.address);
        let remedy = remedy(refused, self.mail_domain);
        format!(
            "Nothing was sent to {address}, but {ago} ago a session of {client} ended without mail: {reply}. {remedy}"
        )
    }

    fn other_mail(&self) -> Option<String> {
        let used = self.used_ways();
        if used.is_empty() {
            return None;
        }
        let used = used.join(" and ");
        let refusal = self.last_refusal.map_or_else(String::new, |refused| {
            let recipient = refused.recipient_address();
            let of = if recipient.is_empty() { String::new() } else { format!(" of mail to {}", quoted(recipient)) };
            format!(" The last rejection{of}: {}{}", refused.reply, missing_flag(refused))
        });
        let (address, ago) = (&self.address, self.ago(self.inbox.created_at));
        Some(format!(
            "Clients use {used}, but sent nothing to {address} since this inbox was created {ago} ago.{refusal}"
        ))
    }

    /// The ways by which clients sent something, or may have, since the inbox was created.
    fn used_ways(&self) -> Vec<String> {
        let smtp = self.watched.used;
        let is_used = |last: Option<Timestamp>| last.is_some_and(|at| at >= self.inbox.created_at);
        let is_smtp_used = smtp.connections_open > 0 || is_used(smtp.last_connection_at.max(smtp.last_message_at));
        let apis = self
            .watched
            .send_apis
            .each()
            .filter(|(_, last)| is_used(*last))
            .map(|(via, _)| format!("the {}", via.title()));
        is_smtp_used.then(|| "SMTP".to_owned()).into_iter().chain(apis).collect()
    }

    fn silence(&self) -> String {
        let (created_at, watched_since) = (self.inbox.created_at, self.watched.since);
        let since = if created_at >= watched_since {
            format!("this inbox was created {} ago", self.ago(created_at))
        } else {
            format!("the service started {} ago", self.ago(watched_since))
        };
        let address = self.smtp_address;
        let refused = self.refused_by_validators().unwrap_or_default();
        format!("Nothing has connected over SMTP since {since}. Is {address} the application's SMTP server?{refused}")
    }

    /// A possible cause on every domain but the default, which validators of addresses accept: some reject the
    /// top-level domains that are reserved for tests (RFC 2606), or a domain without an MX record.
    fn refused_by_validators(&self) -> Option<String> {
        let domain = self.address.rsplit('@').next().filter(|domain| *domain != DEFAULT_MAIL_DOMAIN)?;
        let top = domain.rsplit('.').next().filter(|top| RESERVED.contains(top));
        let example = top.map_or_else(String::new, |top| format!(", as pydantic's EmailStr and Joi do for .{top}"));
        Some(format!(" Or does the application's validation reject addresses on {domain}{example}?"))
    }

    fn ago(&self, at: Timestamp) -> String {
        spoken(self.now.since(at))
    }
}

/// What to do about a refusal because of the recipient's domain.
fn missing_flag(refused: &RefusedMail) -> String {
    refused.accepting_flag().map_or_else(String::new, |flag| format!(". Start the server with {flag} to accept it."))
}

fn named(message: &Latest) -> String {
    let subject = match message.subject.char_indices().nth(SUBJECT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &message.subject[..end]),
        None => message.subject.clone(),
    };
    quoted(&format!("\"{subject}\" from {}", message.from))
}

/// A duration as text.
fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spoken() {
        let spoken = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!([32, 119, 120, 7_200, 172_800].map(spoken), ["32 s", "119 s", "2 min", "2 h", "2 days"]);
    }
}
