//! Deleting messages and inboxes.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::see;
use super::parts::MessagePath;
use super::sign_in::local_path;
use super::visit::{Form, InboxPage, Params, ProjectPage};
use crate::http::App;

pub(super) async fn message(
    State(app): State<Arc<App>>,
    page: InboxPage,
    Params(MessagePath { message }): Params<MessagePath>,
    form: Form,
) -> Result<Response, PageError> {
    app.service
        .delete_message(&page.of.caller(), &message)
        .await?;
    Ok(see(form.given("next").map_or(&*page.path(), local_path)))
}

pub(super) async fn messages(
    State(app): State<Arc<App>>,
    page: InboxPage,
) -> Result<Response, PageError> {
    app.service.empty_inbox(&page.inbox).await?;
    Ok(see(&page.path()))
}

pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    page: InboxPage,
) -> Result<Response, PageError> {
    app.service.end_inbox(&page.inbox).await?;
    Ok(see(&page.path()))
}

pub(super) async fn inboxes(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    app.service
        .end_inboxes(&page.caller(), &form.all("inbox"))
        .await?;
    Ok(see(&page.path("/inboxes")))
}
