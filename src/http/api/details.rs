//! A message with all its details, parts and attachments.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use restante_api::{AttachmentInfo, AttachmentPath, Envelope, MessageDetails, MessagePath, Otp};
use restante_mail::details::{self, Attachment, Details};

use crate::http::app::App;
use crate::http::auth::{Authenticated, PathOf};
use crate::http::describe::{ATTACHED, BUSY, MESSAGE_NOT_FOUND, NOSNIFF, Operation};
use crate::http::download::{attachment, media_type, safe_name};
use crate::http::error::Error;
use crate::http::response::JSON;
use crate::model::{Domain, address_of};
use crate::service::Everything;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
) -> Result<Response, Error> {
    let (mut message, job) = app.service.whole_message(&caller, &path.id).await?;
    let mail_domain = app.service.mail_domain().clone();
    let writing = job.run(move || {
        let raw = std::mem::take(&mut message.raw);
        let mut details = details::details(&raw);
        let size = raw.len();
        drop(raw);
        if details.message_id.is_none() {
            details.message_id = restante_mail::threading(message.trace.as_bytes()).message_id;
        }
        serde_json::to_vec(&message_details(message, size, details, &mail_domain))
    });
    let (body, job) = writing.await.map_err(Error::internal)?;
    Ok((StatusCode::OK, [(CONTENT_TYPE, JSON)], job.answer(body?)).into_response())
}

pub(super) fn describe_show(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Envelope, headers, addresses, code, links with their texts, attachments. A field \
                       without a value is null or an empty array.";
    operation
        .named(
            "getMessageDetails",
            "messages",
            "Everything about a message",
            description,
        )
        .extension()
        .returns::<MessageDetails>(StatusCode::OK, "The details.")
        .refuses_as(&MESSAGE_NOT_FOUND)
        .refuses_as(&BUSY)
}

pub(super) async fn download(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<AttachmentPath>,
) -> Result<Response, Error> {
    let (message, job) = app.service.whole_message(&caller, &path.id).await?;
    let index: usize = path.index.parse().map_err(|_| Error::AttachmentNotFound)?;
    let decoding = job.run(move || details::attachment_content(&message.raw, index));
    let (found, job) = decoding.await.map_err(Error::internal)?;
    let (found, content) = found.ok_or(Error::AttachmentNotFound)?;
    let name = found
        .file_name
        .as_deref()
        .map(safe_name)
        .filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("attachment-{index}"));
    attachment(media_type(&found.content_type), &name, job.answer(content))
}

pub(super) fn describe_download(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The decoded bytes with the content type of the attachment.";
    let unknown = "The message is unknown or belongs to another project, or it has no attachment with this index.";
    operation
        .named("getAttachment", "messages", "An attachment", description)
        .extension()
        .returns_content("*/*", "The attachment.", &[ATTACHED, NOSNIFF])
        .refuses(
            unknown,
            &[Error::AttachmentNotFound, Error::MessageNotFound],
        )
        .refuses_as(&BUSY)
}

fn message_details(
    message: Everything,
    size: usize,
    details: Details,
    mail_domain: &Domain,
) -> MessageDetails {
    let envelope = message.envelope;
    MessageDetails {
        id: message.head.id.to_string(),
        size,
        received_at: message.head.received_at.to_string(),
        envelope: Envelope {
            from: envelope.from,
            to: address_of(
                &message.head.inbox_id,
                message.head.shared.as_ref(),
                mail_domain,
            ),
            helo: envelope.helo,
            client: envelope.client,
            tls: envelope.tls,
            authenticated: envelope.authenticated,
            via: envelope.via,
        },
        inbox_id: message.head.inbox_id.to_string(),
        headers: details.headers,
        from: details.from,
        to: details.to,
        cc: details.cc,
        reply_to: details.reply_to,
        message_id: details.message_id,
        in_reply_to: details.in_reply_to,
        date: details.date,
        otp: details.codes.otp.map(Otp::from),
        code: details.codes.labelled.first().cloned(),
        codes: details.codes.labelled,
        links: details.links,
        attachments: details
            .attachments
            .into_iter()
            .enumerate()
            .map(attachment_info)
            .collect(),
        list_unsubscribe: details.list_unsubscribe,
    }
}

fn attachment_info((index, attachment): (usize, Attachment)) -> AttachmentInfo {
    AttachmentInfo {
        index,
        content_type: media_type(&attachment.content_type).to_owned(),
        filename: attachment.file_name,
        size: attachment.size,
        content_id: attachment.content_id,
        inline: attachment.is_inline,
    }
}
