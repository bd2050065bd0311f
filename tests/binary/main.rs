//! The real binary, started on free ports with a new data directory, and used through its public
//! interfaces.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod action;
mod addresses;
mod backup;
mod checks;
mod client;
mod commands;
mod crowd;
mod durability;
mod examples;
mod failed_sessions;
mod failure;
mod faults;
mod files;
mod flood;
mod for_tests;
mod full_disk;
mod helpers;
mod large_sends;
mod log;
mod mail_clients;
mod mailpit_helpers;
mod mcp;
mod metrics;
mod monitoring;
mod outgoing;
mod postfix;
mod power;
mod project;
mod senders;
mod sending;
mod sendmail;
mod shapes;
mod start;
mod stop;
mod stories;
mod wait;
mod watch;
