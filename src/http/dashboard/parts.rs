//! The HTML of a message in a frame, and its parts and its raw bytes as downloads. Names from the
//! mail cannot inject paths or headers, and the browser displays no part except as an image.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use restante_mail::anatomy::{self, PartContent};
use restante_mail::display::Links;

use super::page::Answer;
use super::plain::file_name;
use super::visit::ProjectPage;
use crate::http::download::{POLICY, attachment, eml as eml_download};
use crate::http::error::Error;
use crate::http::frame::{self, Images};
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::jobs::Job;

pub(super) async fn html(page: ProjectPage, query: Query) -> Answer {
    let images = match query.first("images").as_deref() {
        Some("show") => Images::All,
        _ => Images::Own,
    };
    let links = Links::Through(page.path("/link?to="));
    let message = page.parameter("message")?;
    Ok(frame::page(&page.app, &page.caller(), message, images, "eml", links).await?)
}

pub(super) async fn eml(page: ProjectPage, request_id: RequestId) -> Answer {
    let message = page.parameter("message")?;
    Ok(eml_download(page.service(), &page.caller(), message, request_id).await?)
}

pub(super) async fn download(page: ProjectPage) -> Answer {
    let (index, part, job) = find(&page).await?;
    let name = file_name(part.file_name.as_deref(), index);
    let content = job.answer(part.bytes);
    Ok(attachment("application/octet-stream", &name, content)?)
}

pub(super) async fn image(page: ProjectPage) -> Answer {
    let (_, part, job) = find(&page).await?;
    let content_type = part.image_type.ok_or(Error::NotFound)?;
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
    ];
    Ok((headers, job.answer(part.bytes)).into_response())
}

async fn find(page: &ProjectPage) -> Result<(usize, PartContent, Job), Error> {
    let index = page
        .parameter("part")?
        .parse()
        .map_err(|_| Error::NotFound)?;
    let id = page.parameter("message")?;
    let (message, job) = page.service().whole_message(&page.caller(), id).await?;
    let reading = job.run(move || anatomy::part(&message.raw, index));
    let (part, job) = reading.await.map_err(Error::internal)?;
    Ok((index, part.ok_or(Error::NotFound)?, job))
}
