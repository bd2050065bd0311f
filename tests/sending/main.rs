//! Mail to other domains, carried by the real worker to real servers on the loopback: a DNS server (hickory), postfix's
//! smtp-sink, and a scripted server for what smtp-sink cannot do. A day of retries passes by the test's own clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bed;
mod client;
mod dns;
mod outcomes;
mod queue;
mod relay;
mod routes;
mod scripted;
mod sink;
mod targets;
