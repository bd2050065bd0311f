//! What is read out of mails: cases as files, and what holds of every mail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod codes;
mod files;
mod links;
mod mails;
mod properties;
