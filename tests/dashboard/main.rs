//! The dashboard: its routes and pages without a port, and in headless Chromium on a running server
//! with real mail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod addresses;
mod barriers;
mod deletions;
mod failures;
mod faults;
mod hostile;
mod journeys;
mod keyboard;
mod letter;
mod links;
mod lists;
mod live;
mod looking;
mod mail;
mod pages;
mod projects;
mod reading;
mod reasons;
mod routes;
mod search;
mod sessions;
mod site;
mod timeline;
mod updates;
mod visitor;
mod waits;
mod webdriver;
