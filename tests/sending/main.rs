//! Mail to other domains, sent by the real worker to real servers on the loopback: a DNS server
//! (hickory), postfix's smtp-sink, and a scripted server for what smtp-sink cannot do. With a
//! manual clock, a day of retries takes no time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod authentication;
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
