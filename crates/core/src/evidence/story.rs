//! The story of a wait that failed: why no message arrived, as things were when the wait ended.

pub use restante_api::Cause;
use restante_api::Event;
use serde::{Deserialize, Serialize};

use super::{Sentence, rejection_group};
use crate::model::{
    Latest, Period, RefusedMail, SendApisUse, Similar, SmtpUse, Timestamp, WaitRecord,
};

/// What an explanation is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Evidence {
    /// The number of messages in the inbox.
    pub messages: i64,
    /// The newest of them.
    pub latest: Vec<Latest>,
    /// The rejections in the period: those that are most likely the cause first.
    pub refused: Vec<RefusedMail>,
    /// Other inboxes of the project that received mail in the period, the most similar first.
    pub similar: Vec<Similar>,
    /// The use of SMTP.
    pub smtp: SmtpUse,
    /// The use of the APIs for sending.
    pub send_apis: SendApisUse,
}

/// The cause of a failure, and the sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    pub cause: Cause,
    pub sentence: Sentence,
    /// What failures with the same cause and the same origin have in common: the names of filters
    /// with the subject that arrived, without its numbers and addresses, or the reason of a
    /// rejection.
    pub origin: String,
}

/// The start of a story, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Failure {
    /// The wait. Its id is the id of the story.
    pub wait: WaitRecord,
    /// The label of the inbox, for example the title of its test.
    pub label: Option<String>,
    pub finding: Finding,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Story {
    /// The wait and the cause.
    #[serde(flatten)]
    pub failure: Failure,
    pub evidence: Evidence,
    /// What happened to the inbox until the wait ended, oldest first.
    pub timeline: Vec<Event>,
}

impl Failure {
    /// When the wait ended.
    #[must_use]
    pub fn ended_at(&self) -> Timestamp {
        self.wait
            .end
            .map_or_else(|| self.wait.deadline(), |(at, _)| at)
    }

    /// Whether the wait failed because of this rejection, or an equal one in its period.
    #[must_use]
    pub fn is_by(&self, refused: &RefusedMail) -> bool {
        let period = Period::of_wait(&self.wait);
        let is_its_mail = match &refused.inbox {
            Some(inbox) => *inbox == self.wait.inbox || self.finding.cause == Cause::OtherDomain,
            None => true,
        };
        is_its_mail
            && (period.since..=period.until).contains(&refused.refused_at)
            && self.finding.group() == rejection_group(refused)
    }
}

impl Finding {
    /// The key of the group: failures with the same key have the same cause and the same origin.
    #[must_use]
    pub fn group(&self) -> String {
        /// Maximum number of characters of a key.
        const MAX_CHARACTERS: usize = 200;
        let key = format!("{}:{}", self.cause, self.origin).replace('\0', " ");
        key.chars().take(MAX_CHARACTERS).collect()
    }
}

impl Story {
    /// Cuts the texts of mails and clients in it.
    pub fn shorten_texts(&mut self) {
        /// Maximum number of characters of each text.
        const MAX_CHARACTERS: usize = 500;
        let short = |text: &mut String| {
            if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
                text.truncate(end);
            }
        };
        for message in &mut self.evidence.latest {
            short(&mut message.from);
            short(&mut message.subject);
            message.found.iter_mut().for_each(|(_, text)| short(text));
        }
        for refused in &mut self.evidence.refused {
            short(&mut refused.sender);
            short(&mut refused.recipient);
            short(&mut refused.reply);
        }
    }

    /// Removes a part of the longest list: of the timeline, half of the events, from its middle; of
    /// the evidence, the last entry. Returns `false` if nothing is left.
    pub fn shorten(&mut self) -> bool {
        /// How many of the first events are kept.
        const FIRST_EVENTS: usize = 3;
        let Evidence {
            latest,
            refused,
            similar,
            ..
        } = &mut self.evidence;
        let most = latest.len().max(refused.len()).max(similar.len());
        let was_empty = most == 0 && self.timeline.is_empty();
        if self.timeline.len() > most {
            let first = FIRST_EVENTS.min(self.timeline.len() / 2);
            let removed = (self.timeline.len() - first).div_ceil(2);
            self.timeline.drain(first..first + removed);
        } else if refused.len() == most {
            refused.pop();
        } else if latest.len() == most {
            latest.pop();
        } else {
            similar.pop();
        }
        !was_empty
    }
}
