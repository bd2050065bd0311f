//! The HTTP contract through its public face: the router on a real service, one file a resource.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

mod contract {
    mod authentication;
    mod documents;
    mod inboxes;
    mod list;
    mod messages;
    mod openapi;
    mod outgoing;
    mod refusals;
    mod server;
    mod wait;
    mod wait_slots;
}
