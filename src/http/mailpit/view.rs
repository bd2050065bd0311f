//! A message as a page that a browser test opens: `/view/{ID}.html` and `/view/{ID}.txt`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use restante_mail::display::Links;
use restante_mail::{linked_text, parse};

use super::message::{mark_read, named, whole};
use super::{Admitted, Refused};
use crate::http::App;
use crate::http::error::Error;
use crate::http::frame::{Images, page};
use crate::http::query::Query;
use crate::model::MessageId;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    Path(file): Path<String>,
    query: Query,
) -> Result<Response, Refused> {
    if let Some(id) = file.strip_suffix(".html") {
        return html(&app, &admitted, id, &query).await;
    }
    let id = file.strip_suffix(".txt").ok_or(Error::NotFound)?;
    let (message, job) = whole(&app, &admitted.caller, id, &query).await?;
    mark_read(&app, &admitted.caller, message.head.id).await?;
    let reading = job.run(move || {
        let linked = linked_text(&message.raw);
        linked.unwrap_or_else(|| parse(&message.raw).text).into()
    });
    let (text, job) = reading.await.map_err(Error::internal)?;
    Ok((
        [(CONTENT_TYPE, "text/plain; charset=utf-8")],
        job.answer(text),
    )
        .into_response())
}

async fn html(
    app: &App,
    admitted: &Admitted,
    id: &str,
    query: &Query,
) -> Result<Response, Refused> {
    let id = named(app, &admitted.caller, id, query).await?;
    let whole = format!("../api/v1/message/{id}/raw");
    let page = page(
        app,
        &admitted.caller,
        &id,
        Images::Own,
        whole,
        Links::AsSent,
    )
    .await?;
    if let Ok(id) = MessageId::parse(&id) {
        mark_read(app, &admitted.caller, id).await?;
    }
    Ok(page)
}
