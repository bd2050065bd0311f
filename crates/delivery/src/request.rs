//! A request: one message for one or more recipients.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::{InboxId, ProjectId};

/// One message to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The recipients as addressed: with tags, and possibly the same inbox twice.
    pub recipients: Vec<InboxId>,
    /// Who sends it.
    pub source: Source,
}

/// Who sends a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client over SMTP. Its mail opens inboxes that do not exist, and uses faults.
    Client {
        /// The project whose key the client authenticated with.
        project: Option<ProjectId>,
        /// The sender of the envelope, as the client gave it; empty for `<>`.
        reverse_path: String,
    },
    /// The service itself: a bounce, or mail from one of its inboxes. It opens no inbox and uses no fault.
    Service {
        /// The outgoing item whose result is written with the message. The message is stored only if the mail worker
        /// still has its lease on that item.
        lease: Option<Uuid>,
    },
}

impl Request {
    /// The addresses of which these requests need the facts: those of the recipients, with and without their tags.
    pub fn addresses<'a>(requests: impl IntoIterator<Item = &'a Self>) -> BTreeSet<InboxId> {
        requests.into_iter().flat_map(|request| &request.recipients).flat_map(InboxId::meant).collect()
    }
}
