//! The pure SMTP session against dialogs that people wrote and against random ones that a model judges.

// What is a failure in a test may panic, also outside the functions that are marked as tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod dialogs;
mod model;
mod random;
