//! Decides what happens to a batch of messages.
//!
//! [`decide`] takes [`Facts`], which the caller has read and locked in a transaction, and the [`Request`]s of a batch.
//! It returns a [`Decision`]: a verdict for each request, the writes that the caller makes in the same transaction, and
//! the changes that it announces after the commit. A batch is decided as if each request came alone, one after the
//! other. This crate has no runtime, SQL, clock or random numbers; `README.md` shows it at work.

mod decide;
mod decision;
mod facts;
mod fault;
mod id;
mod inbox_id;
mod notification;
mod request;

pub use decide::{check, decide};
pub use decision::{
    Change, Copies, Decision, Fate, FaultUse, NewMessage, Opening, Place, Refusal, UsedFault, Verdict, Writes,
};
pub use facts::{Address, Facts, Inbox, PendingFault, Policy, Reservation};
pub use fault::{Fault, FaultAction, FaultFields, FaultPoint, FieldError, MOST_FAULTS};
pub use id::{InvalidId, ProjectId, parse_id};
pub use inbox_id::{InboxId, InvalidInboxId};
pub use notification::{Notification, Original};
pub use request::{Request, Source};
