//! The types of the HTTP API: every request, response, query and error of the contract and its
//! extensions, once.
//!
//! serde defines the JSON, schemars the schema. The doc comments of types and fields are the
//! descriptions in the published OpenAPI document, so they are written for readers of the API. A
//! type or field that is not part of the contract carries `x-extension`.

#![warn(missing_docs)]

mod authentication;
mod checks;
mod details;
mod event;
mod explanation;
mod fault;
mod inbox;
mod message;
mod outgoing;
mod path;
mod project;
mod query;
mod service;
mod word;

pub use authentication::{
    Authentication, AuthenticationResult, DkimCheck, DmarcCheck, DmarcPolicy, SpfCheck,
};
pub use checks::{
    CheckName, HtmlFeature, HtmlSupport, MessageChecks, Problem, Severity, SourcePart,
};
pub use details::{
    AttachmentInfo, Code, Envelope, Header, Link, LinkSource, ListUnsubscribe, Mailbox,
    MessageDetails, Otp, OtpRule, Via,
};
pub use event::{Event, EventFilters, EventKind, EventList, Exchange};
pub use explanation::{
    Arrived, ArrivedMessages, Cause, EndReason, Ended, Explanation, MissedBy, Refused, SendApisUse,
    Similar, SmtpUse,
};
pub use fault::{
    Fault, FaultAction, FaultList, FaultPoint, FaultState, MAX_FAULT_SECONDS, MAX_FAULT_TIMES,
    MAX_FAULTS, SetFaultsBody,
};
pub use inbox::{CreateInboxBody, Inbox, InboxKind};
pub use message::{Message, MessageList};
pub use outgoing::{Attempt, ForwardBody, Outgoing, OutgoingStatus, SendAccepted, SendMessageBody};
pub use path::{AddressPath, AttachmentPath, InboxNamePath, InboxPath, MessagePath, OutgoingPath};
pub use project::{
    InboxList, InboxSummary, ListInboxesQuery, MessageSummary, ProjectMessages, SearchMessagesQuery,
};
pub use query::{
    CheckQuery, EventsQuery, FindInboxQuery, ListMessagesQuery, MessageQuery, WaitQuery,
};
pub use service::{ErrorBody, Health};

/// A type with an example for the document.
pub trait Example {
    /// The example.
    fn example() -> Self;
}

/// The instant of the examples.
fn noon() -> String {
    "2026-11-20T09:30:02.456Z".to_owned()
}
