//! Several real processes on one PostgreSQL: the contract holds across them, even if some of them die.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod absence;
mod bed;
mod commits;
mod deaths;
mod encryption;
mod held;
mod keys;
mod moving;
mod node;
mod order;
#[path = "../common/port.rs"]
mod port;
#[path = "../common/postgres.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of this")]
mod postgres;
mod proxy;
mod racing;
mod relay;
mod sending;
#[path = "../binary/server.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of this")]
mod server;
mod session;
mod share;
mod silence;
mod slots;
#[path = "../binary/smtp.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of this")]
mod smtp;
#[path = "../common/stranded.rs"]
mod stranded;
mod sweeping;
