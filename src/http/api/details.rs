//! A message with all its details, parts and attachments.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use restante_mail::details::{self, Attachment, Details, Mailbox};
use restante_mail::{Recognised, Rule};
use serde::Serialize;

use crate::http::app::App;
use crate::http::auth::{Authenticated, PathId};
use crate::http::download::{attachment, media_type, safe_name};
use crate::http::error::Error;
use crate::http::response::JSON;
use crate::model::{Domain, InboxId, Timestamp};
use crate::store::Everything;

#[derive(Serialize)]
struct DetailsView<'a> {
    id: String,
    inbox_id: &'a InboxId,
    size: usize,
    received_at: Timestamp,
    envelope: EnvelopeView<'a>,
    headers: Vec<HeaderView<'a>>,
    from: Vec<MailboxView<'a>>,
    to: Vec<MailboxView<'a>>,
    cc: Vec<MailboxView<'a>>,
    reply_to: Vec<MailboxView<'a>>,
    message_id: Option<&'a str>,
    in_reply_to: Option<&'a str>,
    date: Option<&'a str>,
    otp: Option<OtpView<'a>>,
    links: Vec<LinkView<'a>>,
    attachments: Vec<AttachmentView<'a>>,
    list_unsubscribe: Option<UnsubscribeView<'a>>,
}

#[derive(Serialize)]
struct EnvelopeView<'a> {
    from: &'a str,
    to: String,
    helo: Option<&'a str>,
    client: Option<&'a str>,
    tls: Option<&'a str>,
    authenticated: Option<bool>,
}

#[derive(Serialize)]
struct HeaderView<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct MailboxView<'a> {
    name: Option<&'a str>,
    address: Option<&'a str>,
}

#[derive(Serialize)]
struct OtpView<'a> {
    code: &'a str,
    rule: &'static str,
    line: &'a str,
}

#[derive(Serialize)]
struct LinkView<'a> {
    url: &'a str,
    text: Option<&'a str>,
    source: &'static str,
}

#[derive(Serialize)]
struct AttachmentView<'a> {
    index: usize,
    filename: Option<&'a str>,
    content_type: &'a str,
    size: usize,
    content_id: Option<&'a str>,
    inline: bool,
}

#[derive(Serialize)]
struct UnsubscribeView<'a> {
    urls: &'a [String],
    one_click: bool,
}

impl<'a> DetailsView<'a> {
    fn new(message: &'a Everything, details: &'a Details, mail_domain: &Domain) -> Self {
        let envelope = &message.envelope;
        let attachments = details.attachments.iter().enumerate();
        Self {
            id: message.id.to_string(),
            inbox_id: &message.inbox_id,
            size: message.raw.len(),
            received_at: message.received_at,
            envelope: EnvelopeView {
                from: &envelope.from,
                to: message.inbox_id.at(mail_domain),
                helo: envelope.helo.as_deref(),
                client: envelope.client.as_deref(),
                tls: envelope.tls.as_deref(),
                authenticated: envelope.authenticated,
            },
            headers: details.headers.iter().map(|(name, value)| HeaderView { name, value }).collect(),
            from: mailboxes(&details.from),
            to: mailboxes(&details.to),
            cc: mailboxes(&details.cc),
            reply_to: mailboxes(&details.reply_to),
            message_id: details.message_id.as_deref(),
            in_reply_to: details.in_reply_to.as_deref(),
            date: details.date.as_deref(),
            otp: details.code.as_ref().map(otp),
            links: details
                .links
                .iter()
                .map(|link| LinkView {
                    url: &link.url,
                    text: link.text.as_deref(),
                    source: if link.is_in_html { "html" } else { "text" },
                })
                .collect(),
            attachments: attachments.map(|(index, attachment)| attachment_view(index, attachment)).collect(),
            list_unsubscribe: details
                .list_unsubscribe
                .as_ref()
                .map(|list| UnsubscribeView { urls: &list.urls, one_click: list.one_click }),
        }
    }
}

fn mailboxes<'a>(mailboxes: &'a [Mailbox]) -> Vec<MailboxView<'a>> {
    let view =
        |Mailbox { name, address }: &'a Mailbox| MailboxView { name: name.as_deref(), address: address.as_deref() };
    mailboxes.iter().map(view).collect()
}

fn otp(code: &Recognised) -> OtpView<'_> {
    let rule = match code.rule {
        Rule::DomainBound => "domain_bound",
        Rule::LabelBefore => "label_before",
        Rule::LabelAfter => "label_after",
        Rule::AloneBelowLabel => "alone_below_label",
        Rule::SameSentence => "same_sentence",
        Rule::AloneAboveLabel => "alone_above_label",
        Rule::SixDigits => "six_digits",
    };
    OtpView { code: &code.code, rule, line: &code.line }
}

fn attachment_view(index: usize, attachment: &Attachment) -> AttachmentView<'_> {
    AttachmentView {
        index,
        filename: attachment.file_name.as_deref(),
        content_type: media_type(&attachment.content_type),
        size: attachment.size,
        content_id: attachment.content_id.as_deref(),
        inline: attachment.is_inline,
    }
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let mut message = app.service.whole_message(&caller, &id.0).await?;
    let mail_domain = app.service.mail_domain().clone();
    let room = std::mem::take(&mut message.room);
    // Parsing a large message takes time, so it runs on a blocking thread.
    let writing = tokio::task::spawn_blocking(move || {
        let mut details = details::details(&message.raw);
        if details.message_id.is_none() {
            details.message_id = restante_mail::threading(message.trace.as_bytes()).message_id;
        }
        serde_json::to_vec(&DetailsView::new(&message, &details, &mail_domain))
    });
    let body = writing.await.map_err(Error::internal)??;
    Ok((StatusCode::OK, [(CONTENT_TYPE, JSON)], room.hold(body)).into_response())
}

pub(super) async fn download(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    Path((id, index)): Path<(String, String)>,
) -> Result<Response, Error> {
    let Everything { raw, mut room, .. } = app.service.whole_message(&caller, &id).await?;
    let index: usize = index.parse().map_err(|_| Error::AttachmentNotFound)?;
    let decoding = tokio::task::spawn_blocking(move || details::attachment_content(&raw, index));
    let (found, content) = decoding.await.map_err(Error::internal)?.ok_or(Error::AttachmentNotFound)?;
    room.shrink(content.len());
    let name = found.file_name.as_deref().map(safe_name).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("attachment-{index}"));
    attachment(media_type(&found.content_type), &name, room.hold(content))
}
