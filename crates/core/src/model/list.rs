//! The lists of the dashboard and of the command line: their filters and totals, and what a page
//! watches.

use super::{InboxId, InboxKind, OutgoingStatus, ProjectId, SearchText, Timestamp};

/// The content of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The list of a project's inboxes, with its waits.
    Inboxes(ProjectId),
    /// The inboxes of a project and their messages.
    Mail(ProjectId),
    /// One inbox of a project.
    Inbox(ProjectId, InboxId),
    /// What failed in a project: its refusals, and its waits that failed and that are open.
    Failures(ProjectId),
    /// The outgoing items of a project.
    Outgoing(ProjectId),
    /// The refusals of a project, or of all projects.
    Refused(Option<ProjectId>),
}

/// The live messages of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    pub messages: i64,
    /// Their size in bytes, as received.
    pub bytes: i64,
}

/// The filter of a list of inboxes.
#[derive(Clone, Debug, Default)]
pub struct InboxFilter {
    /// A text in the address, case-insensitive.
    pub address: SearchText,
    /// Only inboxes of this kind.
    pub kind: Option<InboxKind>,
    /// Only inboxes with messages.
    pub with_mail: bool,
    /// Only inboxes on which a wait failed, or to which mail was rejected.
    pub with_failures: bool,
    /// Whether it is counted what failed in each inbox; otherwise it counts as nothing.
    pub counts_failures: bool,
    /// Which page of the list.
    pub part: ListPart,
}

/// A page of a list of inboxes, identified by the last activity and the id of the inbox next to it.
#[derive(Clone, Debug, Default)]
pub enum ListPart {
    #[default]
    Start,
    /// The page after an inbox.
    After(Timestamp, InboxId),
    /// The page before an inbox.
    Before(Timestamp, InboxId),
}

/// Totals of the live inboxes of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxTotals {
    pub inboxes: i64,
    pub with_mail: i64,
    pub messages: i64,
}

/// The filter of a list of outgoing items, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutgoingFilter {
    /// Only items of this project.
    pub project: Option<ProjectId>,
    /// Only items with this status.
    pub status: Option<OutgoingStatus>,
}
