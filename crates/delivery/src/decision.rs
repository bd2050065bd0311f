//! The decision: what happens to each request, what is written, and what is announced.

use uuid::Uuid;

use crate::{FaultAction, InboxId, Notification, ProjectId, Recipient, SharedAddress};

/// What happens to a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// One for each request, in order.
    pub verdicts: Vec<Verdict>,
    /// What has to be written in the transaction that read the facts.
    pub writes: Writes,
    /// What has to be announced after the commit, in the order of the inboxes.
    pub changes: Vec<Change>,
}

/// What happens to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The message is accepted. It has reached every inbox in the way that `copies` says.
    Accepted {
        /// One for each inbox, in the order of the recipients.
        copies: Vec<Copies>,
        /// The fault that changes the reply nevertheless: it delays it, or closes the connection.
        reply: Option<UsedFault>,
    },
    /// A fault keeps the message from every inbox, and determines the reply.
    Swallowed(UsedFault),
    /// The message is refused for all its recipients.
    Refused(Refusal),
    /// Another transaction has locked the inbox of this recipient. The request can be decided again
    /// later.
    Conflict(Recipient),
    /// The mail worker has lost its lease on the outgoing item, so the message is not stored.
    LeaseLost,
}

/// What an inbox gets of an accepted message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The inbox.
    pub inbox: InboxId,
    /// The project that owns it.
    pub owner: ProjectId,
    /// The recipients whose mail goes there, as addressed.
    pub recipients: Vec<Recipient>,
    /// What it gets.
    pub fate: Fate,
}

/// What happens to an accepted message at one inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is stored.
    Stored(Place),
    /// A fault stores it twice.
    Duplicated([Place; 2]),
    /// A fault makes it bounce. The sender gets the notification; `None` if the envelope has no
    /// sender.
    Bounced(Option<Notification>),
    /// A fault drops it.
    Dropped,
}

/// A position in an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The id of the message.
    pub message: Uuid,
    /// 1, 2, 3 … in commit order.
    pub sequence: i64,
}

/// A fault that a message used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFault {
    /// The inbox that has it.
    pub inbox: InboxId,
    /// What it does.
    pub action: FaultAction,
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The inbox is full.
    #[error("inbox {0} is full")]
    Full(InboxId),
    /// The address is reserved for a project that was deleted.
    #[error("the project that owned {0} was deleted")]
    Disabled(InboxId),
    /// The address has a tag, and the address without it is reserved for another project than the
    /// client's.
    #[error("the address {0} belongs to another project")]
    Foreign(InboxId),
    /// The message would bounce, and the inbox has caused as many notifications as it may in this
    /// minute.
    #[error("inbox {0} bounces too many messages")]
    TooManyBounces(InboxId),
    /// There is no live inbox, and mail of the service opens none.
    #[error("there is no inbox {0}")]
    NoInbox(Recipient),
    /// Several projects have a live inbox with this shared address, and the client used the key of
    /// none.
    #[error("several projects have the address {0}")]
    Ambiguous(SharedAddress),
}

/// What has to be written, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// The inboxes that are opened.
    pub openings: Vec<Opening>,
    /// The messages, in the order of the requests.
    pub messages: Vec<NewMessage>,
    /// The uses of faults.
    pub uses: Vec<FaultUse>,
    /// The notifications that are queued for the senders, each with the index of its request.
    pub notifications: Vec<(usize, Notification)>,
}

/// An inbox that mail opens. It is empty and temporary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The inbox.
    pub inbox: InboxId,
    /// Its address; `None` if that is on the mail domain.
    pub address: Option<SharedAddress>,
    /// The project that owns it from now on.
    pub owner: ProjectId,
    /// Whether the address was reserved. Otherwise it was free.
    pub was_reserved: bool,
    /// Whether the address is only reserved for the owner, because an inbox with a tag of it is
    /// opened.
    pub only_reserves: bool,
}

/// A row for a message in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// The index of the request, whose content the message has.
    pub request: usize,
    /// The inbox.
    pub inbox: InboxId,
    /// The project that owns the inbox.
    pub project: ProjectId,
    /// Its place there.
    pub place: Place,
    /// Its recipients as addressed, if one of them has a tag that the address of the inbox may not
    /// have.
    pub recipients: Vec<Recipient>,
}

/// One use of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultUse {
    /// The inbox that has the fault.
    pub inbox: InboxId,
    /// The number of the fault.
    pub fault: i64,
}

/// Something that others are notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An inbox has received a message, or has used a fault.
    Inbox(InboxId),
    /// An inbox is full.
    Full(InboxId),
}

impl Verdict {
    /// The messages that are stored, in the order of the recipients.
    pub fn messages(&self) -> impl Iterator<Item = (&InboxId, Place)> {
        let copies = if let Self::Accepted { copies, .. } = self {
            copies.as_slice()
        } else {
            &[]
        };
        copies.iter().flat_map(|copies| {
            copies
                .fate
                .places()
                .iter()
                .map(|place| (&copies.inbox, *place))
        })
    }
}

impl Fate {
    /// The places at which the message is stored.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        match self {
            Self::Stored(place) => std::slice::from_ref(place),
            Self::Duplicated(places) => places,
            Self::Bounced(_) | Self::Dropped => &[],
        }
    }
}
