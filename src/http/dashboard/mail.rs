//! The HTML of a message, shown in a frame.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use restante_mail::display::Links;

use super::failure::PageError;
use super::parts::MessagePath;
use super::visit::{Params, ProjectPage};
use crate::http::App;
use crate::http::frame::{self, Images};
use crate::http::query::Query;

pub(super) async fn html(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(MessagePath { message }): Params<MessagePath>,
    query: Query,
) -> Result<Response, PageError> {
    let images = if query.first("images").as_deref() == Some("show") {
        Images::All
    } else {
        Images::Own
    };
    let links = Links::Through(page.path("/link?to="));
    Ok(frame::page(&app, &page.caller(), &message, images, "eml", links).await?)
}
