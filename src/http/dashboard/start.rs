//! Getting started: where to point an application, and snippets with the values of this installation.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;

use super::failure::Failure;
use super::guard::Visit;
use super::page::{Shell, html};
use crate::http::App;
use crate::store::Watched;

/// How to reach this installation. The key is never among it: it is known only to whoever has it.
pub(super) struct Setup {
    pub(super) smtp_host: String,
    pub(super) smtp_port: u16,
    pub(super) base_url: String,
    /// The address to send to.
    pub(super) address: String,
    /// The inbox to wait on; empty where one is to be created first.
    pub(super) inbox: String,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    shell: Shell,
    setup: Setup,
    inboxes: String,
    /// Live messages of the project.
    messages: i64,
}

impl Setup {
    pub(super) fn new(app: &App, address: &str, inbox: &str) -> Self {
        let base: Option<Uri> = app.base_url.parse().ok();
        let smtp_host = base.as_ref().and_then(Uri::host).unwrap_or(app.service.mail_domain().as_str()).to_owned();
        Self {
            smtp_host,
            smtp_port: app.smtp_port,
            base_url: app.base_url.clone(),
            address: address.to_owned(),
            inbox: inbox.to_owned(),
        }
    }
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    let inboxes = format!("/projects/{}/inboxes", project.id);
    // Before the messages are counted, so that what comes in between is told once more and never missed.
    let seen = app.service.mark(&Watched::Inboxes(project.id)).await?;
    let messages = app.service.projects().holdings(project.id).await?.messages;
    let address = format!("anything@{}", app.service.mail_domain());
    let shell = Shell::new(&visit, "Getting started", "start").live(format!("{inboxes}/events"), seen);
    Ok(html(&StartPage { shell, setup: Setup::new(&app, &address, ""), inboxes, messages })?)
}
