//! Getting started: the settings for an application, and snippets with the values of this installation.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::page::{Place, Shell, html};
use super::visit::ProjectPage;
use crate::http::App;
use crate::model::{Inbox, InboxId};
use crate::store::Watched;

/// How to reach this installation. The key is not included, since the server only has its hash.
pub(super) struct Setup {
    pub(super) smtp_host: String,
    pub(super) smtp_port: u16,
    pub(super) base_url: String,
    /// The address to send to.
    pub(super) address: String,
    /// The inbox to wait on; if there is none, the snippets create one first.
    pub(super) inbox: Option<InboxId>,
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
    pub(super) fn new(app: &App, inbox: Option<&Inbox>) -> Self {
        let mail_domain = app.service.mail_domain();
        Self {
            smtp_host: app.smtp_host(),
            smtp_port: app.smtp_port,
            base_url: app.base_url.clone(),
            address: inbox.map_or_else(|| format!("anything@{mail_domain}"), |inbox| inbox.address(mail_domain)),
            inbox: inbox.map(|inbox| inbox.id.clone()),
        }
    }
}

pub(super) async fn show(State(app): State<Arc<App>>, page: ProjectPage) -> Result<Response, Failure> {
    let inboxes = page.path("/inboxes");
    // Read before the messages are counted, so that a change in between is announced again and never missed.
    let seen = app.service.mark(&Watched::Inboxes(page.project.id)).await?;
    let messages = app.service.projects().holdings(page.project.id).await?.messages;
    let shell = page.shell("Getting started", Place::Start).live(format!("{inboxes}/events"), seen);
    Ok(html(&StartPage { shell, setup: Setup::new(&app, None), inboxes, messages })?)
}
