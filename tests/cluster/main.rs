//! Several real processes on one PostgreSQL: the contract holds across them, even if some of them
//! are killed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod absence;
mod addresses;
mod administration;
mod bed;
mod cancels;
mod clocks;
mod commits;
mod deaths;
mod encryption;
mod explain;
mod failover;
mod faults;
mod health;
mod held;
mod idle;
mod keys;
mod large;
mod moving;
mod node;
mod opening;
mod order;
mod pooler;
mod proxy;
mod racing;
mod relay;
mod restarts;
mod schemas;
mod sending;
mod session;
mod share;
mod silence;
mod slots;
mod sweeping;
mod trips;
mod waits;
