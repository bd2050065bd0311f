//! SMTP over a real socket, with the real service on its own database and a manual clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod client;
mod deliveries;
mod dialogs;
mod limits;
mod server;
mod socket_peer;
mod time;
mod tls;
