//! Getting started: the settings for an application, and snippets with the values of this
//! installation and, if there is one, of an inbox.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{Shell, html};
use super::visit::{InboxPage, ProjectPage};
use crate::config::SmtpAuth;
use crate::http::App;
use crate::model::{Inbox, InboxId, Watched};

/// The settings for this installation. The key is not included, because the server has only its
/// hash.
pub(super) struct Setup {
    pub(super) smtp_host: String,
    pub(super) smtp_port: u16,
    pub(super) offers_tls: bool,
    pub(super) base_url: String,
    /// Whether the APIs of mail providers are served.
    pub(super) send_apis: bool,
    /// The address to which to send.
    pub(super) address: String,
    /// The inbox to wait on; if there is none, the snippets create one first.
    pub(super) inbox: Option<InboxId>,
    /// Whether mail to this address reaches this project only if the client authenticates with its
    /// key.
    pub(super) needs_key: bool,
    /// The end of the project's newest key.
    pub(super) key_last_four: String,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    shell: Shell,
    setup: Setup,
    inboxes: String,
    /// The path of the inbox that is filled in.
    inbox: Option<String>,
    /// Live messages of the project.
    messages: i64,
}

impl Setup {
    pub(super) fn new(app: &App, page: &ProjectPage, inbox: Option<&Inbox>) -> Self {
        let ProjectPage {
            project,
            base_url,
            smtp,
            ..
        } = page;
        let mail_domain = app.service.mail_domain();
        Self {
            smtp_host: smtp.host.clone(),
            smtp_port: smtp.port,
            offers_tls: app.smtp_starttls,
            base_url: base_url.clone(),
            send_apis: app.send_apis,
            address: inbox.map_or_else(
                || format!("anything@{mail_domain}"),
                |inbox| inbox.address(mail_domain),
            ),
            inbox: inbox.map(|inbox| inbox.id.clone()),
            needs_key: app.smtp_auth == SmtpAuth::Required
                || (!project.is_default && inbox.is_none()),
            key_last_four: project.key_last_four.clone(),
        }
    }
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    page: ProjectPage,
) -> Result<Response, PageError> {
    respond(&app, &page, None).await
}

/// The same with an inbox filled in.
pub(super) async fn show_for_inbox(
    State(app): State<Arc<App>>,
    page: InboxPage,
) -> Result<Response, PageError> {
    respond(&app, &page.of, Some(&page)).await
}

async fn respond(
    app: &App,
    page: &ProjectPage,
    inbox: Option<&InboxPage>,
) -> Result<Response, PageError> {
    let inboxes = page.path("/inboxes");
    // Read before the messages are counted, so that a change in between is announced and not
    // missed.
    let seen = app.service.mark(&Watched::Mail(page.project.id)).await?;
    let messages = app.service.inbox_totals(page.project.id).await?.messages;
    let shell = page
        .shell("Getting started", "start")
        .live(page.path("/events"), seen);
    let setup = Setup::new(app, page, inbox.map(|page| &page.inbox));
    Ok(html(&StartPage {
        shell,
        setup,
        inboxes,
        inbox: inbox.map(InboxPage::path),
        messages,
    })?)
}
