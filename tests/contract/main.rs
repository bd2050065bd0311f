//! The HTTP contract: the router with a real service, one file per resource, on every engine. A
//! case is one `async fn(Engine)` with `#[testkit::each_engine]`, which makes one test of it for
//! each engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod addresses;
mod authentication;
mod base_url;
mod bodies;
mod causes;
mod checks;
mod clock;
mod documents;
mod events;
mod everything;
mod explain;
mod failed_sessions;
mod failures;
mod faults;
mod filters;
mod hang_ups;
mod inboxes;
mod list;
mod mailpit;
mod mcp;
mod messages;
mod open_waits;
mod openapi;
mod outgoing;
mod project;
mod refusals;
mod senders;
mod server;
mod smtp;
mod transcripts;
mod wait;
mod wait_slots;
