//! The dashboard: its routes and pages without a port, and in headless Chromium on a running server with real mail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

#[path = "binary/server.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod server;

/// What the harness stores in; that the dashboard's queries hold on every engine, the store's suite shows.
const ENGINE: common::Engine = common::Engine::Sqlite;

mod dashboard {
    mod barriers;
    mod hostile;
    mod journeys;
    mod keyboard;
    mod live;
    mod mail;
    mod pages;
    mod projects;
    mod routes;
    mod sessions;
    mod site;
    mod visitor;
    mod webdriver;
}
