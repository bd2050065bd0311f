//! Why a message did not arrive: a pure decision over facts, the sentence about it, what to do, and
//! the report that clients print. The service reads the facts, and the store keeps the findings.
//!
//! It is no crate of its own, because its facts are the types of the model. `tests/evidence` has
//! the cases of the decision as text files.

mod advice;
mod cause;
mod entry;
pub mod event;
mod report;
mod sentence;
mod similar;
mod story;

pub use advice::{Server, accepting_flag, advice, title};
pub use cause::{Facts, late, rejection, rejection_group};
pub use entry::{Entry, NewEntry, Recorded};
pub use report::{missed, report};
pub use sentence::{Piece, Reading, Sentence};
pub use story::{Cause, Evidence, Failure, Finding, Story};
