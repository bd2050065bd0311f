//! The real binary, started on free ports with a new data directory, and used over its public interfaces.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod backup;
mod client;
mod crowd;
mod durability;
mod failure;
mod files;
mod flood;
mod full_disk;
mod helpers;
mod log;
mod mail_clients;
mod metrics;
mod outgoing;
#[path = "../common/port.rs"]
mod port;
#[path = "../common/postgres.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of this")]
mod postgres;
mod power;
mod project;
mod sending;
mod sendmail;
mod server;
mod smtp;
mod start;
mod stop;
mod wait;
