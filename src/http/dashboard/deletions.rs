//! Deleting messages and inboxes, and undoing deletions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{see, with_query};
use super::parts::MessagePath;
use super::visit::{Form, InboxPage, Params, ProjectPage};
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;

/// A deletion that can still be undone.
pub(super) struct Undo {
    pub(super) deletion: String,
    /// The URL of its form.
    pub(super) url: String,
    /// The page to return to.
    pub(super) back: String,
}

impl Undo {
    /// The deletion with the id in the query, if it can still be undone.
    pub(super) async fn read(
        app: &App,
        page: &ProjectPage,
        query: &Query,
        back: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(deletion) = query.first("undo") else {
            return Ok(None);
        };
        let can_restore = app.service.can_restore(&page.caller(), &deletion).await?;
        Ok(can_restore.then(|| Self {
            deletion,
            url: page.path("/undo"),
            back: back.to_owned(),
        }))
    }
}

pub(super) async fn message(
    State(app): State<Arc<App>>,
    page: InboxPage,
    Params(MessagePath { message }): Params<MessagePath>,
) -> Result<Response, PageError> {
    let deletion = app
        .service
        .throw_message_away(&page.inbox, &message)
        .await?;
    Ok(see(&with_query(
        &page.path(),
        &[("undo", Some(&deletion.to_string()))],
    )))
}

pub(super) async fn messages(
    State(app): State<Arc<App>>,
    page: InboxPage,
) -> Result<Response, PageError> {
    let deletion = app.service.throw_messages_away(&page.inbox).await?;
    Ok(see(&with_query(
        &page.path(),
        &[("undo", Some(&deletion.to_string()))],
    )))
}

pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    page: InboxPage,
) -> Result<Response, PageError> {
    let deletion = app
        .service
        .throw_inboxes_away(&page.of.caller(), &[page.inbox.id.as_str()])
        .await?;
    Ok(see(&with_query(
        &page.of.path("/inboxes"),
        &[("undo", Some(&deletion.to_string()))],
    )))
}

pub(super) async fn inboxes(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    let chosen = form.all("inbox");
    if chosen.is_empty() {
        return Ok(see(&page.path("/inboxes")));
    }
    let deletion = app
        .service
        .throw_inboxes_away(&page.caller(), &chosen)
        .await?;
    Ok(see(&with_query(
        &page.path("/inboxes"),
        &[("undo", Some(&deletion.to_string()))],
    )))
}

pub(super) async fn undo(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    if !app
        .service
        .restore(&page.caller(), form.text("deletion"))
        .await?
    {
        let text = "cannot undo: the ten seconds are over, or the address is in use again";
        return Err(Error::Refused(text.to_owned()).into());
    }
    let back = form.text("back");
    let own = page.path("/inboxes");
    Ok(see(if back.starts_with(&own) { back } else { &own }))
}
