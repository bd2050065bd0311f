//! Restante: temporary inboxes for automated end-to-end tests.
//!
//! A test creates an inbox over HTTP, the application under test sends mail to its address over
//! SMTP, and the test waits in one open request for the parsed message. `ARCHITECTURE.md` gives an
//! overview. The modules below are listed from the top layer to the bottom, and each imports only
//! modules below it.

pub mod cli;
pub mod http;
pub mod mcp;
pub mod receiver;
pub mod sender;
mod wire;

pub mod service;

mod authentication;
mod disk;
mod dns;

mod admission;
pub mod clock;
pub mod config;
pub mod metrics;

pub mod tcp;
pub mod totp;

mod json;

pub use restante_core::{causes, db, evidence, jobs, large, model, os, store, tls};
