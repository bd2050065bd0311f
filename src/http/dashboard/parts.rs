//! The parts of a message and its raw bytes as downloads. Names from the mail cannot inject paths
//! or headers, and the browser displays no part except as an image.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::failure::PageError;
use super::page::given;
use super::plain::shown;
use super::visit::{Params, ProjectPage};
use super::when::size;
use crate::http::App;
use crate::http::download::{POLICY, attachment, eml as eml_download, safe_name};
use crate::http::error::Error;
use crate::http::request_id::RequestId;
use crate::jobs::Job;
use restante_mail::anatomy::{self, PartContent, PartSummary};

/// The message of a path.
#[derive(Deserialize)]
pub(super) struct MessagePath {
    pub(super) message: String,
}

/// The part of a path.
#[derive(Deserialize)]
pub(super) struct PartPath {
    message: String,
    part: usize,
}

/// A part as the list shows it.
pub(super) struct PartRow {
    pub(super) depth: usize,
    pub(super) content_type: String,
    pub(super) charset: Option<String>,
    pub(super) name: Option<String>,
    pub(super) size: String,
    pub(super) is_attachment: bool,
    /// The download; `None` for a part that consists of other parts.
    pub(super) url: Option<String>,
    /// The image, if the part is one.
    pub(super) image_url: Option<String>,
}

pub(super) fn part_rows(parts: &[PartSummary], base: &str) -> Vec<PartRow> {
    /// The deepest indentation of a part.
    const DEEPEST: usize = 6;
    let rows = parts.iter().enumerate().map(|(index, part)| PartRow {
        depth: part.depth.min(DEEPEST),
        content_type: given(shown(&part.content_type)).unwrap_or_else(|| "text/plain".to_owned()),
        charset: part.charset.as_deref().map(shown).and_then(given),
        name: part.file_name.as_deref().map(safe_name).and_then(given),
        size: size(part.bytes as u64),
        is_attachment: part.is_attachment,
        url: (!part.is_multipart).then(|| format!("{base}/parts/{index}")),
        image_url: part.is_image.then(|| format!("{base}/images/{index}")),
    });
    rows.collect()
}

pub(super) async fn eml(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    request_id: RequestId,
    Params(MessagePath { message }): Params<MessagePath>,
) -> Result<Response, PageError> {
    Ok(eml_download(&app.service, &page.caller(), &message, request_id).await?)
}

pub(super) async fn download(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(path): Params<PartPath>,
) -> Result<Response, PageError> {
    let (part, job) = find(&app, &page, &path).await?;
    let name = part.file_name.as_deref().map(safe_name).and_then(given);
    let name = name.unwrap_or_else(|| format!("part-{}", path.part));
    Ok(attachment(
        "application/octet-stream",
        &name,
        job.answer(part.bytes),
    )?)
}

pub(super) async fn image(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(path): Params<PartPath>,
) -> Result<Response, PageError> {
    let (part, job) = find(&app, &page, &path).await?;
    let content_type = part.image_type.ok_or(Error::NotFound)?;
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
    ];
    Ok((headers, job.answer(part.bytes)).into_response())
}

async fn find(app: &App, page: &ProjectPage, path: &PartPath) -> Result<(PartContent, Job), Error> {
    let (message, job) = app
        .service
        .whole_message(&page.caller(), &path.message)
        .await?;
    let index = path.part;
    let reading = job.run(move || anatomy::part(&message.raw, index));
    let (part, job) = reading.await.map_err(Error::internal)?;
    let part = part.ok_or(Error::NotFound)?;
    Ok((part, job))
}
