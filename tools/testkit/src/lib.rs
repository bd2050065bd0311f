//! Shared by several test binaries: the service in the test's process, the real program,
//! PostgreSQL, an SMTP client.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::new_without_default,
    reason = "a port or a database is not created by default"
)]
#![allow(missing_docs, reason = "helpers with self-explanatory names")]

mod harness;
pub mod http;
pub mod port;
pub mod postgres;
pub mod server;
pub mod smtp;
pub mod stranded;

pub use harness::*;
pub use testkit_macros::each_engine;
