//! Decides what happens to a batch of messages.
//!

#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

mod decide;
mod decision;
mod facts;
mod fault;
mod id;
mod inbox_id;
mod notification;
mod recipient;
mod request;
mod shared;

pub use decide::{NewIds, check, decide};
pub use decision::{
    Change, Copies, Decision, Fate, FaultUse, NewMessage, Opening, Place, Refusal, UsedFault,
    Verdict, Writes,
};
pub use facts::{
    Address, Facts, Inbox, MAX_NOTIFICATIONS_A_MINUTE, PendingFault, Policy, Reservation,
};
pub use fault::{Fault, FaultAction, FaultPoint, FieldError};
pub use id::{InvalidId, ProjectId, parse_id};
pub use inbox_id::{InboxId, InvalidInboxId};
pub use notification::{Notification, Original};
pub use recipient::{Recipient, SharedAddress};
pub use request::{Request, Source};
pub use shared::SharedInboxes;
