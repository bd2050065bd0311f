//! One message: its fields, its header, its bytes and its parts.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use md5::Md5;
use restante_mail::details::{self, Details, each_attachment};
use restante_mail::{addressing, linked_text, sent_fields};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::json::{Attachment, Checksums, Headers, ListUnsubscribe, Message, People};
use super::list::latest;
use super::{Admitted, Refused};
use crate::http::App;
use crate::http::download::{attachment, eml, media_type, safe_name};
use crate::http::error::Error;
use crate::http::message_json::{Json, Members, MessageJson};
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::http::response::{JSON, keeping};
use crate::jobs::Job;
use crate::model::{MailChange, MessageId};
use crate::service::{Caller, Everything, PartsReader};

/// The members that are written while they are read.
const MEMBERS: Members = Members {
    empty: r#""Text":"","HTML":"""#,
    text: r#""Text":""#,
    html: r#"","HTML":""#,
    links: None,
};

/// The word for the newest message.
const LATEST: &str = "latest";

pub(super) async fn show(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    admitted: Admitted,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, Refused> {
    let (message, job) = whole(&app, &admitted.caller, &id, &query).await?;
    mark_read(&app, &admitted.caller, message.head.id).await?;
    let recipients = app
        .service
        .recipients_of_message(&admitted.caller, &message.head)
        .await?;
    let id = message.head.id.to_string();
    let reading = job.run(move || (linked_text(&message.raw), fields(message, recipients)));
    // Its place is free before it is sent, which it may be slowly.
    let ((own_text, message), _) = reading.await.map_err(Error::internal)?;
    let stored = app.service.open_message(&admitted.caller, &id).await?;
    let job = app
        .service
        .sending(&admitted.caller, stored.parts.is_large())
        .await?;
    let parts = PartsReader::open(stored.parts).await?;
    let parts = parts.ok_or(Error::MessageNotFound)?;
    let json = serde_json::to_string(&message)?;
    let mut head = Vec::new();
    let body = MessageJson::start(&json, &MEMBERS, parts, own_text, &mut head)?;
    let body = keeping(job, body.body(head, request_id));
    Ok(([(CONTENT_TYPE, JSON)], body).into_response())
}

pub(super) async fn headers(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, Refused> {
    let (message, job) = whole(&app, &admitted.caller, &id, &query).await?;
    json(job, move || serde_json::to_vec(&header(&message))).await
}

pub(super) async fn raw(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    admitted: Admitted,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, Refused> {
    let id = named(&app, &admitted.caller, &id, &query).await?;
    let mut response = eml(&app.service, &admitted.caller, &id, request_id).await?;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    if query.first("dl").as_deref() != Some("1") {
        headers.remove(CONTENT_DISPOSITION);
    }
    Ok(response)
}

pub(super) async fn part(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    Path((id, part)): Path<(String, String)>,
    query: Query,
) -> Result<Response, Refused> {
    let (message, job) = whole(&app, &admitted.caller, &id, &query).await?;
    let decoding = job.run(move || {
        let found = each_attachment(&message.raw, |one, number, content| {
            (number == part).then(|| (one, content.to_vec()))
        });
        found.into_iter().flatten().next()
    });
    let (found, job) = decoding.await.map_err(Error::internal)?;
    let (found, content) = found.ok_or(Error::AttachmentNotFound)?;
    let name = found
        .file_name
        .as_deref()
        .map(safe_name)
        .filter(|name| !name.is_empty());
    Ok(attachment(
        media_type(&found.content_type),
        &name.unwrap_or_else(|| "attachment".to_owned()),
        job.answer(content),
    )?)
}

/// The id that a path names.
pub(super) async fn named(
    app: &App,
    caller: &Caller,
    id: &str,
    query: &Query,
) -> Result<String, Refused> {
    if id != LATEST {
        return Ok(id.to_ascii_lowercase());
    }
    let newest = latest(app, caller, query).await?;
    Ok(newest.ok_or(Error::MessageNotFound)?.to_string())
}

/// The message that a path names.
pub(super) async fn whole(
    app: &App,
    caller: &Caller,
    id: &str,
    query: &Query,
) -> Result<(Everything, Job), Refused> {
    let id = named(app, caller, id, query).await?;
    Ok(app.service.whole_message(caller, &id).await?)
}

/// A message that a client has opened is read, as in Mailpit.
pub(super) async fn mark_read(app: &App, caller: &Caller, id: MessageId) -> Result<(), Refused> {
    let mark = MailChange::Mark { is_read: true };
    app.service.change_mail(caller, &[id], mark).await?;
    Ok(())
}

async fn json(
    job: Job,
    write: impl FnOnce() -> serde_json::Result<Vec<u8>> + Send + 'static,
) -> Result<Response, Refused> {
    let (body, job) = job.run(write).await.map_err(Error::internal)?;
    Ok(([(CONTENT_TYPE, JSON)], job.answer(body?)).into_response())
}

/// All but the text and the HTML.
fn fields(message: Everything, recipients: Vec<String>) -> Message {
    let raw = &message.raw;
    let Details {
        headers,
        date,
        list_unsubscribe,
        ..
    } = details::details(raw);
    let mut addresses = addressing(raw);
    if addresses.message_id.is_empty() {
        addresses.message_id = addressing(message.trace.as_bytes()).message_id;
    }
    let message_id = std::mem::take(&mut addresses.message_id);
    let people = People::new(addresses, recipients);
    let value = |name: &str| {
        let field = headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name));
        field.map(|field| field.value.clone()).unwrap_or_default()
    };
    let (inline, attachments) = attachments(raw);
    let sender = if message.envelope.from.is_empty() {
        people.sender()
    } else {
        &message.envelope.from
    };
    let return_path = sender.to_owned();
    Message {
        id: message.head.id.to_string(),
        message_id,
        people,
        return_path,
        subject: message.head.subject,
        list_unsubscribe: ListUnsubscribe {
            header: value("list-unsubscribe"),
            links: list_unsubscribe.map(|list| list.urls).unwrap_or_default(),
            errors: String::new(),
            header_post: value("list-unsubscribe-post"),
        },
        date: date.unwrap_or_else(|| message.head.received_at.to_string()),
        tags: [],
        username: "",
        text: String::new(),
        html: String::new(),
        size: message.raw.len(),
        inline,
        attachments,
    }
}

/// The inline parts and the other attachments.
fn attachments(raw: &[u8]) -> (Vec<Attachment>, Vec<Attachment>) {
    let all = each_attachment(raw, |one, part_id, content| {
        let content_id = one.content_id.unwrap_or_default();
        let attachment = Attachment {
            part_id,
            file_name: one.file_name.unwrap_or_else(|| content_id.clone()),
            content_type: media_type(&one.content_type).to_owned(),
            content_id,
            size: one.size,
            checksums: Checksums {
                md5: hexadecimal(&Md5::digest(content)),
                sha1: hexadecimal(&Sha1::digest(content)),
                sha256: hexadecimal(&Sha256::digest(content)),
            },
        };
        (one.is_inline, attachment)
    });
    let (inline, attached): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(is_inline, _)| *is_inline);
    let only = |list: Vec<(bool, Attachment)>| list.into_iter().map(|(_, one)| one).collect();
    (only(inline), only(attached))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fields that this server added, and those of the message, as Go's library names them:
/// `Message-Id`.
fn header(message: &Everything) -> Headers {
    let mut header = Headers::new();
    for (name, value) in sent_fields(message.trace.as_bytes())
        .into_iter()
        .chain(sent_fields(&message.raw))
    {
        header.entry(canonical(&name)).or_default().push(value);
    }
    header
}

fn canonical(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut characters = word.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first
            .into_iter()
            .chain(characters.map(|character| character.to_ascii_lowercase()))
            .collect::<String>()
    });
    words.collect::<Vec<_>>().join("-")
}
