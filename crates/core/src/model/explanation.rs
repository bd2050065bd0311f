//! The facts of an explanation: how an inbox ended, the latest messages, similar inboxes, and the
//! use of SMTP.

use std::time::Duration;

use restante_api::MissedBy;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    Domain, Inbox, InboxId, MessageId, SharedAddress, Timestamp, Via, WaitRecord, address_of,
};

/// A wait is explained by what happened since this long before it started.
const BEFORE_WAIT: Duration = Duration::from_secs(5 * 60);

/// A test often starts its wait a moment after its request to the application.
const JUST_BEFORE_WAIT: Duration = Duration::from_secs(30);

/// The period that the evidence of an explanation is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// What happened before has nothing to do with the missing message.
    pub since: Timestamp,
    /// When the wait started.
    pub started_at: Timestamp,
    /// When the wait ended.
    pub until: Timestamp,
}

impl Period {
    /// The life of an inbox until then, if there was no wait.
    #[must_use]
    pub fn of_inbox(inbox: &Inbox, until: Timestamp) -> Self {
        Self {
            since: inbox.created_at,
            started_at: inbox.created_at,
            until,
        }
    }

    /// The period of a wait, with a few minutes before it.
    #[must_use]
    pub fn of_wait(wait: &WaitRecord) -> Self {
        let since = wait
            .started_at
            .before(BEFORE_WAIT)
            .max(wait.inbox_created_at);
        let until = wait.end.map_or_else(|| wait.deadline(), |(at, _)| at);
        Self {
            since,
            started_at: wait.started_at,
            until,
        }
    }

    /// The part that a time belongs to.
    #[must_use]
    pub fn part_of(self, at: Timestamp) -> Part {
        match at {
            at if at >= self.started_at => Part::Wait,
            at if at >= self.started_at.before(JUST_BEFORE_WAIT) => Part::JustBefore,
            at if at >= self.since => Part::Earlier,
            _ => Part::Before,
        }
    }
}

/// The parts of a period, in reverse order: the later something happened, the more likely it is the
/// cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Wait,
    /// A moment before the wait.
    JustBefore,
    /// Minutes before the wait.
    Earlier,
    Before,
}

/// A message in a list of the latest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Latest {
    pub id: MessageId,
    pub from: String,
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The names of the filters that exclude it.
    #[serde(deserialize_with = "names")]
    pub missed_by: Vec<&'static str>,
    /// For each of them that is for the content, the part of the content that comes closest.
    #[serde(deserialize_with = "names_and_texts")]
    pub found: Vec<(&'static str, String)>,
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'static str>, D::Error> {
    let words = Vec::<MissedBy>::deserialize(deserializer)?;
    Ok(words.into_iter().map(MissedBy::as_str).collect())
}

fn names_and_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(&'static str, String)>, D::Error> {
    let words = Vec::<(MissedBy, String)>::deserialize(deserializer)?;
    let named = words.into_iter().map(|(word, text)| (word.as_str(), text));
    Ok(named.collect())
}

/// Another inbox that received mail.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Similar {
    pub id: InboxId,
    /// Its address, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// The messages in it.
    pub messages: i64,
    /// When the last one arrived.
    pub last_received_at: Timestamp,
    /// Whether it was created by mail.
    pub opened_by_mail: bool,
}

impl Similar {
    #[must_use]
    pub fn address(&self, mail_domain: &Domain) -> String {
        address_of(&self.id, self.shared.as_ref(), mail_domain)
    }
}

/// How an inbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxEnd {
    Expired(Timestamp),
    Deleted(Timestamp),
}

/// The use of SMTP, at one node or at several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SmtpUse {
    /// Connections that are open.
    pub connections_open: i64,
    /// When the last client connected.
    pub last_connection_at: Option<Timestamp>,
    /// When the last message was stored.
    pub last_message_at: Option<Timestamp>,
}

/// When each of [`Via::SEND_APIS`] was last used, at one node or at several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SendApisUse(pub [Option<Timestamp>; Via::SEND_APIS.len()]);

impl SendApisUse {
    /// Each API with the time of its last use.
    pub fn each(&self) -> impl Iterator<Item = (Via, Option<Timestamp>)> {
        Via::SEND_APIS.into_iter().zip(self.0)
    }

    /// Adds the use at other nodes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut both = self.0;
        both.iter_mut()
            .zip(other.0)
            .for_each(|(own, other)| *own = (*own).max(other));
        Self(both)
    }
}

impl SmtpUse {
    /// Adds the use at other nodes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            connections_open: self.connections_open + other.connections_open,
            last_connection_at: self.last_connection_at.max(other.last_connection_at),
            last_message_at: self.last_message_at.max(other.last_message_at),
        }
    }
}

/// The use at one node or at several, and the time at which counting started.
#[derive(Clone, Copy, Debug)]
pub struct TotalUse {
    pub used: SmtpUse,
    pub send_apis: SendApisUse,
    pub since: Timestamp,
}

impl TotalUse {
    /// Adds the use at other nodes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            used: self.used.and(other.used),
            send_apis: self.send_apis.and(other.send_apis),
            since: self.since.min(other.since),
        }
    }
}
