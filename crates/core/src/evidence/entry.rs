//! An entry of the journal: what happened to an address and is in no other table.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{Failure, Story};
use crate::model::{
    Domain, InboxClaim, InboxId, ProjectId, RefusedMail, SmtpSession, Timestamp, WaitEnd,
    WaitRecord,
};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Entry {
    /// A request to create an inbox found that it exists.
    Claimed(InboxClaim),
    /// A wait, open or ended. The entry of its end replaces that of its start.
    Wait(Box<WaitRecord>),
    /// An SMTP session that failed.
    Smtp(SmtpSession),
    /// Mail was rejected, or a session ended before MAIL.
    Refused(RefusedMail),
    /// Why a wait failed.
    Failed(Box<Story>),
}

/// What can be read from the journal.
pub trait Recorded: DeserializeOwned + Send + 'static {
    /// The kind of its entries.
    const KIND: &'static str;

    /// The texts in which a search looks.
    fn texts(&self, _mail_domain: &Domain) -> Vec<String> {
        Vec::new()
    }
}

impl Recorded for InboxClaim {
    const KIND: &'static str = "claimed";
}

impl Recorded for WaitRecord {
    const KIND: &'static str = "wait";
}

impl Recorded for SmtpSession {
    const KIND: &'static str = "smtp";
}

impl Recorded for RefusedMail {
    const KIND: &'static str = "refused";

    fn texts(&self, _mail_domain: &Domain) -> Vec<String> {
        let texts = [&self.peer, &self.sender, &self.recipient, &self.reply];
        let reason = self.reason.label().to_owned();
        texts.into_iter().cloned().chain([reason]).collect()
    }
}

/// A story without its evidence and its timeline, as a list shows it.
impl Recorded for Failure {
    const KIND: &'static str = Story::KIND;

    fn texts(&self, mail_domain: &Domain) -> Vec<String> {
        let address = self.wait.address(mail_domain);
        self.label.iter().cloned().chain([address]).collect()
    }
}

impl Recorded for Story {
    const KIND: &'static str = "failed";
}

/// A new entry, with who sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// The project that sees it.
    pub project: ProjectId,
    /// The id of the inbox that it concerns, or a whole address that is not on the mail domain;
    /// empty if none is known.
    pub subject: String,
    pub entry: Entry,
}

impl Entry {
    /// The word of a wait that has not ended.
    pub const OPEN: &'static str = "open";

    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Claimed(_) => InboxClaim::KIND,
            Self::Wait(_) => WaitRecord::KIND,
            Self::Smtp(_) => SmtpSession::KIND,
            Self::Refused(_) => RefusedMail::KIND,
            Self::Failed(_) => Story::KIND,
        }
    }

    /// When it happened. A session and a wait have the time of their end, so that they follow what
    /// happened during them.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Claimed(claim) => claim.at,
            Self::Wait(wait) => wait.end.map_or(wait.started_at, |(at, _)| at),
            Self::Smtp(session) => session.ended_at,
            Self::Refused(refused) => refused.refused_at,
            Self::Failed(story) => story.failure.ended_at(),
        }
    }

    /// What entries of its kind can be selected by: the reason of a rejection, the cause of a
    /// failure, and whether a wait is open.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Wait(wait) if wait.end.is_none() => Self::OPEN,
            Self::Refused(refused) => refused.reason.label(),
            Self::Failed(story) => story.failure.finding.cause.as_str(),
            Self::Claimed(_) | Self::Wait(_) | Self::Smtp(_) => "",
        }
    }

    /// The id of a story that was too early: its wait goes on with another request.
    #[must_use]
    pub fn disproved_story(&self) -> Option<Uuid> {
        match self {
            Self::Wait(wait) if wait.id != wait.request && wait.is_going_on_or_found() => {
                Some(wait.id)
            }
            _ => None,
        }
    }

    /// Of the entries of a project and a kind with the same key, only the latest is kept. Clients
    /// repeat waits that are refused, and connections without mail, so one stands for all.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Wait(wait) if wait.end.is_some_and(|(_, end)| end == WaitEnd::TooMany) => {
                Some(format!("too many {}", wait.inbox))
            }
            Self::Wait(wait) => Some(wait.request.to_string()),
            Self::Refused(refused) if refused.is_of_client() => {
                Some(format!("{} {}", refused.reason.label(), refused.peer))
            }
            Self::Failed(story) => Some(story.failure.wait.id.to_string()),
            Self::Claimed(_) | Self::Smtp(_) | Self::Refused(_) => None,
        }
    }
}

impl NewEntry {
    /// Something that happened to an inbox.
    #[must_use]
    pub fn of(project: ProjectId, inbox: &InboxId, entry: Entry) -> Self {
        Self {
            project,
            subject: inbox.to_string(),
            entry,
        }
    }

    /// Why a wait failed.
    #[must_use]
    pub fn failed(story: Story) -> Self {
        let inbox = story.failure.wait.inbox.clone();
        Self::of(
            story.failure.wait.project,
            &inbox,
            Entry::Failed(Box::new(story)),
        )
    }
}
