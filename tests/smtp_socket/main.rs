//! SMTP over a real socket, in front of the real service on a database of its own. Time passes by a manual clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod deliveries;
// Some of the two is for the pure session alone.
#[allow(dead_code)]
#[path = "../dialog/mod.rs"]
mod dialog;
mod dialogs;
mod limits;
mod server;
#[allow(dead_code)]
#[path = "../smtp_session/peer.rs"]
mod session_peer;
mod socket_peer;
mod time;
mod tls;
