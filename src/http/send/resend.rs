//! Resend: `POST /emails`, `POST /emails/batch`, `GET /emails/{id}`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use restante_api::Mailbox;
use restante_mail::compose::{Attachment, Letter};
use restante_mail::details;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json as value;

use super::call::{Provider, Received};
use super::delivery::Sent;
use super::failure::{Failure, Kind};
use super::json::{Json, Messages, OneOrMany, Template, empty_object, parse, parse_batch, plain};
use super::outgoing::{Addresses, Outgoing};
use super::{OTHER, Senders, json};
use crate::http::base64;
use crate::http::error::Error;
use crate::http::response::JSON;
use crate::model::{Domain, Via, address_of};
use crate::service::Everything;

const RESEND: Provider = Provider {
    via: Via::Resend,
    // The limit concerns only `to`.
    recipients: usize::MAX,
    refuse,
};
/// Maximum number of addresses in `to`.
const TO: usize = 50;
/// Maximum number of messages of a batch.
const BATCH: usize = 100;

#[derive(Deserialize)]
struct Email {
    from: Option<String>,
    to: Option<OneOrMany>,
    cc: Option<OneOrMany>,
    bcc: Option<OneOrMany>,
    #[serde(alias = "replyTo")]
    reply_to: Option<OneOrMany>,
    subject: Option<String>,
    text: Option<String>,
    html: Option<String>,
    headers: Option<BTreeMap<String, Json>>,
    attachments: Option<Vec<File>>,
    tags: Option<Vec<Tag>>,
    #[serde(alias = "scheduledAt")]
    scheduled_at: Option<String>,
    template: Option<Stored>,
}

#[derive(Deserialize)]
struct File {
    filename: Option<String>,
    content: Option<Content>,
    /// The URL of the file. It is not fetched: the attachment has the URL itself.
    path: Option<String>,
    #[serde(alias = "contentType")]
    content_type: Option<String>,
    #[serde(
        alias = "contentId",
        alias = "inline_content_id",
        alias = "inlineContentId"
    )]
    content_id: Option<String>,
}

/// Base64, or bytes as JavaScript and Python write them.
#[derive(Debug, PartialEq)]
enum Content {
    Base64(String),
    Bytes(Vec<u8>),
}

/// Written by hand, because the derived form needs 32 bytes for each byte.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("base64 or a list of bytes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Base64(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, bytes: A) -> Result<Content, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(bytes)).map(Content::Bytes)
            }

            fn visit_map<A: MapAccess<'de>>(self, buffer: A) -> Result<Content, A::Error> {
                let Buffer { data } = Deserialize::deserialize(MapAccessDeserializer::new(buffer))?;
                Ok(Content::Bytes(data))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A file as Node.js writes it.
#[derive(Deserialize)]
struct Buffer {
    data: Vec<u8>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    value: Option<Json>,
}

#[derive(Deserialize)]
struct Stored {
    id: String,
    variables: Option<Json>,
}

pub(super) fn router() -> Router<Arc<Senders>> {
    Router::new()
        .route("/emails", post(send))
        .route("/emails/batch", post(send_batch))
        .route("/emails/{id}", get(show))
        .route(OTHER, any(|| async { RESEND.unknown() }))
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        Ok(vec![
            parse::<Email>(&received.body)?.into_message(received.addresses)?,
        ])
    };
    let answer = |sent: &[Sent]| json(200, &id(&sent[0]));
    to_the_end(async move { RESEND.send(&senders, request, read, answer).await }).await
}

async fn send_batch(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    let validation = request.headers().get("x-batch-validation");
    if validation.is_some_and(|mode| mode == "permissive") {
        let read = |received: &Received| {
            let emails = batch(received)?.into_iter();
            Ok(emails
                .map(|email| email.into_message(received.addresses))
                .collect())
        };
        let sending = async move {
            RESEND
                .send_each(&senders, request, read, permissive_answer)
                .await
        };
        return to_the_end(sending).await;
    }
    let read = |received: &Received| {
        let emails = batch(received)?.into_iter();
        emails
            .map(|email| email.into_message(received.addresses))
            .collect()
    };
    let answer = |sent: &[Sent]| {
        json(
            200,
            &value!({"data": sent.iter().map(id).collect::<Vec<_>>()}),
        )
    };
    to_the_end(async move { RESEND.send(&senders, request, read, answer).await }).await
}

/// Answers a request in a task of its own: if the client leaves without the answer, it is kept for
/// the repeated request.
async fn to_the_end(
    answering: impl Future<Output = Result<Response, Error>> + Send + 'static,
) -> Result<Response, Error> {
    tokio::spawn(answering).await.map_err(Error::internal)?
}

fn batch(received: &Received) -> Result<Vec<Email>, Failure> {
    let Messages(emails) = parse_batch::<Messages<Email, BATCH>>(&received.body)?;
    if emails.is_empty() {
        return Err(Failure::invalid(format!("a batch has 1 to {BATCH} emails")));
    }
    Ok(emails)
}

/// The ids of the emails that were sent, and the errors of the others with their places.
fn permissive_answer(outcomes: &[Result<Sent, Failure>]) -> Response {
    let sent: Vec<_> = outcomes.iter().flatten().map(id).collect();
    let errors = outcomes.iter().enumerate().filter_map(|(index, outcome)| {
        let failure = outcome.as_ref().err()?;
        Some(value!({"index": index, "message": failure.text}))
    });
    let errors: Vec<_> = errors.collect();
    json(200, &value!({"data": sent, "errors": errors}))
}

fn id(sent: &Sent) -> serde_json::Value {
    value!({"id": sent.id})
}

/// The message as the provider shows it. With a key, those of its project; else those that were
/// sent without one.
async fn show(
    State(senders): State<Arc<Senders>>,
    Path(id): Path<String>,
    parts: Parts,
) -> Result<Response, Error> {
    let service = &senders.app.service;
    let found = RESEND.look_up(&senders, &parts, async |caller| {
        let (message, job) = service.message_of_api(caller, &id, Via::Resend).await?;
        let mail_domain = service.mail_domain().clone();
        let writing = job.run(move || serde_json::to_vec(&Shown::of(message, &mail_domain)));
        let (body, job) = writing.await.map_err(Error::internal)?;
        Ok(([(CONTENT_TYPE, JSON)], job.answer(body?)).into_response())
    });
    found.await
}

/// A message as the provider shows it.
#[derive(Serialize)]
struct Shown {
    object: &'static str,
    id: String,
    from: String,
    to: Vec<String>,
    cc: Vec<String>,
    bcc: Vec<String>,
    reply_to: Vec<String>,
    subject: String,
    text: String,
    html: String,
    created_at: String,
    last_event: &'static str,
}

impl Shown {
    fn of(message: Everything, mail_domain: &Domain) -> Self {
        let read = details::details(&message.raw);
        let list = |mailboxes: Vec<Mailbox>| -> Vec<String> {
            mailboxes
                .into_iter()
                .filter_map(|mailbox| mailbox.address)
                .collect()
        };
        let to = list(read.to);
        let cc = list(read.cc);
        let reply_to = list(read.reply_to);
        let inbox = || {
            address_of(
                &message.head.inbox_id,
                message.head.shared.as_ref(),
                mail_domain,
            )
        };
        let to = if to.is_empty() { vec![inbox()] } else { to };
        let parsed = restante_mail::parse(&message.raw);
        Self {
            object: "email",
            id: message.head.id.to_string(),
            from: message.head.from,
            to,
            cc,
            bcc: Vec::new(),
            reply_to,
            subject: parsed.subject,
            text: parsed.text,
            html: parsed.html,
            created_at: message.head.received_at.to_string(),
            last_event: "delivered",
        }
    }
}

impl Email {
    fn into_message(self, addresses: Addresses) -> Result<Outgoing, Failure> {
        let missing = |name: &str| Failure::invalid(format!("Missing `{name}` field."));
        let all = |name: &str, field: Option<OneOrMany>| {
            addresses.all(name, field.map(OneOrMany::into_vec).unwrap_or_default())
        };
        let mut letter = Letter {
            from: addresses.one("from", &self.from.ok_or_else(|| missing("from"))?)?,
            to: all("to", Some(self.to.ok_or_else(|| missing("to"))?))?,
            cc: all("cc", self.cc)?,
            reply_to: all("reply_to", self.reply_to)?,
            text: self.text.unwrap_or_default(),
            html: self.html.unwrap_or_default(),
            ..Letter::default()
        };
        if letter.to.len() > TO {
            return Err(Failure::invalid(format!(
                "The `to` field must have at most {TO} addresses."
            )));
        }
        if let Some(Stored { id, variables }) = &self.template {
            letter.subject = id.clone();
            letter.text = Template {
                template: id,
                variables: variables.as_ref().unwrap_or(&empty_object()),
            }
            .text();
        } else if letter.text.is_empty() && letter.html.is_empty() {
            return Err(missing("html` or `text"));
        }
        match self.subject {
            Some(subject) => letter.subject = subject,
            None if self.template.is_none() => return Err(missing("subject")),
            None => {}
        }
        let headers = self.headers.unwrap_or_default().into_iter();
        letter.headers = headers.map(|(name, value)| (name, plain(&value))).collect();
        letter
            .headers
            .extend(
                self.tags
                    .unwrap_or_default()
                    .into_iter()
                    .map(|Tag { name, value }| {
                        (
                            format!("X-Resend-Tag-{name}"),
                            value.as_deref().map(plain).unwrap_or_default(),
                        )
                    }),
            );
        letter.headers.extend(
            self.scheduled_at
                .map(|at| ("X-Resend-Scheduled-At".to_owned(), at)),
        );
        let files = self
            .attachments
            .unwrap_or_default()
            .into_iter()
            .map(File::into_attachment);
        Ok(Outgoing::new(
            letter,
            all("bcc", self.bcc)?,
            files.collect::<Result<_, _>>()?,
        ))
    }
}

impl File {
    fn into_attachment(self) -> Result<Attachment, Failure> {
        let mut content_type = self.content_type.unwrap_or_default();
        let content = match (self.content, self.path) {
            (Some(Content::Base64(text)), _) => base64::decode(&text)?,
            (Some(Content::Bytes(data)), _) => data,
            (None, Some(url)) => {
                content_type = "text/uri-list".to_owned();
                url.into_bytes()
            }
            (None, None) => {
                return Err(Failure::invalid(
                    "Attachment must have either a `content` or `path`.",
                ));
            }
        };
        let name = self.filename.unwrap_or_default();
        Ok(Attachment {
            name,
            content_type,
            content,
            content_id: self.content_id,
        })
    }
}

fn refuse(failure: &Failure) -> Response {
    let (status, name) = match failure.kind {
        Kind::NoCredential => (401, "missing_api_key"),
        Kind::InvalidKey => (401, "invalid_api_key"),
        Kind::Invalid => (422, "validation_error"),
        Kind::NotAllowed | Kind::Rejected => (403, "validation_error"),
        Kind::TooLarge => (413, "validation_error"),
        Kind::Later => (429, "rate_limit_exceeded"),
        Kind::NotFound => (404, "not_found"),
        Kind::Repeated(status, name) => (status, name),
        Kind::Disconnect(_) => (500, "internal_server_error"),
    };
    json(
        status,
        &value!({"statusCode": status, "name": name, "message": failure.text}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_file_are_base64_or_numbers() {
        let content = |json: &str| parse::<Content>(json.as_bytes());
        assert_eq!(
            content("\"YQ==\"").unwrap(),
            Content::Base64("YQ==".to_owned())
        );
        for bytes in ["[1, 255]", r#"{"type": "Buffer", "data": [1, 255]}"#] {
            assert_eq!(
                content(bytes).unwrap(),
                Content::Bytes(vec![1, 255]),
                "{bytes}"
            );
        }
        let large = format!("[{}0]", "0,".repeat(500_000));
        assert_eq!(content(&large).unwrap(), Content::Bytes(vec![0; 500_001]));
        for wrong in ["1", "[256]", "[\"a\"]", "{}", "null"] {
            assert!(content(wrong).is_err(), "{wrong}");
        }
    }
}
