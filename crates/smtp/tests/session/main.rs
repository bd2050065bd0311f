//! Tests of the pure SMTP session: dialogs as files, and random sessions that are compared with a
//! model.

// Tests may panic, also in helper functions.
#![allow(clippy::unwrap_used, clippy::panic)]

mod dialogs;
mod model;
mod random;
