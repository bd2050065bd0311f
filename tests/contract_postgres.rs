//! The HTTP contract on PostgreSQL: the same cases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod contract;

/// What the harness stores in.
const ENGINE: common::Engine = common::Engine::Postgres;
