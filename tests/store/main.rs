//! The tests of the store. A case is one `async fn(Bed)` with `#[testkit::each_engine]`, which
//! makes one test of it for each engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod attempts;
mod bed;
mod cases;
mod deliveries;
mod evidence;
mod faults;
mod inboxes;
mod journal;
mod mail;
mod messages;
mod migration;
mod outgoing;
mod overview;
mod projects;
mod retention;
mod sessions;
mod sweep;
