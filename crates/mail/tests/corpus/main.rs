//! Tests of parsing mail: cases as files, and properties of every mail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod checks;
mod codes;
mod files;
mod hostile;
mod links;
mod mails;
mod properties;
