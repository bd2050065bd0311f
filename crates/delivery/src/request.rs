//! A request: one message for one or more recipients.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::{ProjectId, Recipient, SharedAddress};

/// One message to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The recipients as addressed: with tags, and possibly the same inbox twice.
    pub recipients: Vec<Recipient>,
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
    /// The service itself: a bounce, or mail from one of its inboxes. It opens no inbox and uses no
    /// fault.
    Service {
        /// The project of the inbox that sends or gets it. Of the inboxes with a shared address,
        /// its own gets the mail.
        project: ProjectId,
        /// The outgoing item whose result is written with the message. The message is stored only
        /// if the mail worker still has its lease on that item.
        lease: Option<Uuid>,
    },
}

impl Source {
    /// The project whose inboxes alone get mail to shared addresses.
    #[must_use]
    pub fn project(&self) -> Option<ProjectId> {
        match self {
            Self::Client { project, .. } => *project,
            Self::Service { project, .. } => Some(*project),
        }
    }
}

impl Request {
    /// The shared addresses of which these requests need the inboxes, with and without their tags:
    /// those of one project, or of all.
    pub fn shared_addresses<'a>(
        requests: impl IntoIterator<Item = &'a Self>,
    ) -> BTreeSet<(SharedAddress, Option<ProjectId>)> {
        let mut addresses = BTreeSet::new();
        for request in requests {
            for recipient in &request.recipients {
                if let Recipient::Shared(address) = recipient {
                    addresses.extend(
                        address
                            .meant()
                            .map(|meant| (meant, request.source.project())),
                    );
                }
            }
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InboxId;

    #[test]
    fn shared_addresses_are_needed_with_and_without_their_tags() {
        let address = |text: &str| SharedAddress::from_stored(text.to_owned());
        let project = ProjectId(Uuid::from_u128(1));
        let inbox = Recipient::Inbox(InboxId::from_stored("bob".to_owned()));
        let client = |project| Source::Client {
            project,
            reverse_path: String::new(),
        };
        let requests = [
            Request {
                recipients: vec![inbox, Recipient::Shared(address("ada+x@a.test"))],
                source: client(None),
            },
            Request {
                recipients: vec![Recipient::Shared(address("eve@a.test"))],
                source: client(Some(project)),
            },
            Request {
                recipients: vec![Recipient::Shared(address("eve@a.test"))],
                source: Source::Service {
                    project,
                    lease: None,
                },
            },
        ];
        let expected = [
            (address("ada+x@a.test"), None),
            (address("ada@a.test"), None),
            (address("eve@a.test"), Some(project)),
        ];
        assert_eq!(
            Request::shared_addresses(&requests),
            BTreeSet::from(expected)
        );
    }
}
