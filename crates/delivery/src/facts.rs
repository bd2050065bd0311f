//! The facts: what the caller has read before it decides.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use uuid::Uuid;

use crate::{Fault, FaultPoint, InboxId, ProjectId, SharedInboxes};

/// Maximum number of notifications of bounces that one inbox causes in a minute.
pub const MAX_NOTIFICATIONS_A_MINUTE: u32 = 60;

/// The settings for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Maximum number of messages in one inbox.
    pub capacity: u64,
    /// The owner of inboxes that are opened by mail without a key to a free address.
    pub default_project: ProjectId,
}

/// What is known of the addresses that a batch needs (see [`Facts::inboxes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The settings.
    pub policy: Policy,
    /// An address without an entry is free: there is no inbox, and it is reserved for no project.
    pub addresses: BTreeMap<InboxId, Address>,
    /// Those of these inboxes whose addresses are not on the mail domain. Mail to the mail domain
    /// never reaches them.
    pub shared: SharedInboxes,
    /// Those of the requests' leases that the mail worker still has.
    pub held_leases: BTreeSet<Uuid>,
}

/// What is known of an address that is not free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Another transaction has locked it, so nothing is known.
    Locked,
    /// It is a live inbox.
    Live(Inbox),
    /// Its inbox has ended, and it is reserved for the project of that inbox.
    Reserved(Reservation),
}

/// A live inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    /// The project that owns it.
    pub owner: ProjectId,
    /// The number of messages in it.
    pub messages: u64,
    /// The sequence of the last message that this address has received.
    pub last_sequence: i64,
    /// Its faults with uses left, in order. Only the first one is active.
    pub faults: VecDeque<PendingFault>,
    /// How many notifications of bounces it may still cause in this minute. The sender of a message
    /// may be forged, so a server must not become a source of unwanted mail.
    pub notifications_left: u32,
}

/// An address whose inbox has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The project for which it is reserved.
    pub owner: ProjectId,
    /// That project was deleted.
    pub owner_is_deleted: bool,
    /// Whether an inbox with a tag of this address is live. Then no other project gets the address.
    pub has_live_tags: bool,
    /// The sequence of the last message that this address has received. A later inbox continues
    /// after it.
    pub last_sequence: i64,
}

/// A fault with uses left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingFault {
    /// Identifies it in the writes.
    pub number: i64,
    /// The fault.
    pub fault: Fault,
    /// How many uses are left; at least one.
    pub left: u32,
}

impl Facts {
    /// The facts if every address is free.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            addresses: BTreeMap::new(),
            shared: SharedInboxes::default(),
            held_leases: BTreeSet::new(),
        }
    }
}

impl Inbox {
    /// A live inbox without faults.
    #[must_use]
    pub fn new(owner: ProjectId, messages: u64, last_sequence: i64) -> Self {
        let faults = VecDeque::new();
        let notifications_left = MAX_NOTIFICATIONS_A_MINUTE;
        Self {
            owner,
            messages,
            last_sequence,
            faults,
            notifications_left,
        }
    }

    /// The fault that applies to the next message.
    pub(crate) fn message_fault(&self) -> Option<&PendingFault> {
        self.faults
            .front()
            .filter(|pending| pending.fault.at == FaultPoint::Data)
    }

    /// Counts a use of the active fault.
    pub(crate) fn use_fault(&mut self) {
        if let Some(active) = self.faults.front_mut() {
            active.left = active.left.saturating_sub(1);
            if active.left == 0 {
                self.faults.pop_front();
            }
        }
    }
}
