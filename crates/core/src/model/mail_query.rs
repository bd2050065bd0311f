//! What to look for in the stored mail: the one query of waits, lists, the dashboard, MCP and the
//! API of Mailpit. Each of them only translates its own syntax.

use super::search_text::{begins_address, fold_case};
use super::{Domain, Features, Inbox, ProjectId, Timestamp};

/// The messages to look for: all conditions must be met.
#[derive(Clone, Debug)]
pub struct MailQuery {
    pub scope: Scope,
    /// Whether a message in several inboxes of the project is one: that in the oldest.
    pub is_merged: bool,
    pub conditions: Vec<Condition>,
    /// What a message must have.
    pub has: Features,
    /// Whether it must have an attachment, or none.
    pub has_attachment: Option<bool>,
    /// Whether it was read with the API of Mailpit, or not.
    pub is_read: Option<bool>,
    /// Only messages received since then.
    pub since: Option<Timestamp>,
    /// Only messages received before then.
    pub until: Option<Timestamp>,
    /// Only messages between these positions: in an inbox their sequences, otherwise their numbers.
    pub after: i64,
    pub before: Option<i64>,
}

/// What is done with the messages that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailChange {
    Delete,
    /// They are marked as read, or as unread.
    Mark {
        is_read: bool,
    },
}

/// Where messages are looked for.
#[derive(Clone, Debug)]
pub enum Scope {
    Project(ProjectId),
    Inbox(Inbox),
}

/// A text that one of several parts of a message must contain, or that none may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub parts: Vec<Part>,
    /// Case-folded.
    pub text: String,
    pub fit: Fit,
    pub is_excluded: bool,
}

/// What of a message a text is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The address of the inbox, which is on this domain unless it has one of its own.
    Inbox(Domain),
    /// The label of the inbox.
    Label,
    /// The addresses to which it was sent, also those of other inboxes that have it.
    Recipient(Domain),
    /// The address of the sender.
    Sender,
    Subject,
    Text,
    /// The fields of the header with this name.
    Field(String),
    /// The Message-ID, also if this server added it.
    MessageId,
}

/// How a text is compared with an address; with anything else it may be anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Anywhere,
    Start,
    Whole,
}

impl Scope {
    /// Its project.
    #[must_use]
    pub fn project(&self) -> ProjectId {
        match self {
            Self::Project(project) => *project,
            Self::Inbox(inbox) => inbox.project,
        }
    }
}

impl MailQuery {
    /// All messages of a scope.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            is_merged: false,
            conditions: Vec::new(),
            has: Features::default(),
            has_attachment: None,
            is_read: None,
            since: None,
            until: None,
            after: 0,
            before: None,
        }
    }

    /// The messages of a scope that contain a text anywhere, as people search for it.
    #[must_use]
    pub fn containing(scope: Scope, text: &str, mail_domain: &Domain) -> Self {
        let text = text.trim();
        let condition = Condition::searched(Part::anywhere(Some(mail_domain)), text);
        Self {
            conditions: Some(condition)
                .filter(|_| !text.is_empty())
                .into_iter()
                .collect(),
            ..Self::new(scope)
        }
    }

    /// Whether messages within its positions may be left out.
    #[must_use]
    pub fn is_filter(&self) -> bool {
        let is_timed = self.since.is_some() || self.until.is_some();
        !self.conditions.is_empty() || is_timed || !self.takes_all_rows()
    }

    /// Whether it finds every message of a project.
    #[must_use]
    pub fn is_all_of_project(&self) -> bool {
        matches!(self.scope, Scope::Project(_)) && !self.is_filter()
    }

    /// Whether the features of messages do not matter.
    pub fn takes_all_rows(&self) -> bool {
        self.has == Features::default() && self.has_attachment.or(self.is_read).is_none()
    }
}

impl Condition {
    /// One of the parts contains the text anywhere, without regard to case.
    #[must_use]
    pub fn new(parts: impl Into<Vec<Part>>, text: &str) -> Self {
        Self {
            parts: parts.into(),
            text: fold_case(text),
            fit: Fit::Anywhere,
            is_excluded: false,
        }
    }

    /// As people search: a text that begins an address does not find the middle of one.
    #[must_use]
    pub fn searched(parts: impl Into<Vec<Part>>, text: &str) -> Self {
        let fit = if begins_address(text) {
            Fit::Start
        } else {
            Fit::Anywhere
        };
        Self {
            fit,
            ..Self::new(parts, text)
        }
    }

    /// The whole address is the text.
    #[must_use]
    pub fn whole(part: Part, text: &str) -> Self {
        Self {
            fit: Fit::Whole,
            ..Self::new([part], text)
        }
    }

    /// The opposite of it.
    #[must_use]
    pub fn excluded(self, is_excluded: bool) -> Self {
        Self {
            is_excluded,
            ..self
        }
    }

    /// Whether the content of a message may be compared.
    pub fn reads_content(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Text | Part::Field(_) | Part::MessageId))
    }

    /// Whether recipients in other inboxes may be compared.
    pub fn reads_recipients(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Recipient(_)))
    }
}

impl Part {
    /// Where the search for a word looks; without a domain not at the address of the inbox.
    #[must_use]
    pub fn anywhere(mail_domain: Option<&Domain>) -> Vec<Self> {
        let inbox = mail_domain.cloned().map(Self::Inbox);
        inbox
            .into_iter()
            .chain([Self::Sender, Self::Subject, Self::Text])
            .collect()
    }

    /// The fields with these names.
    #[must_use]
    pub fn fields(names: &[&str]) -> Vec<Self> {
        names
            .iter()
            .map(|name| Self::Field((*name).to_owned()))
            .collect()
    }
}
