//! Mailpit: `POST /api/v1/send`, which is part of its API under `/mailpit`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use restante_api::Mailbox;
use restante_mail::compose::{Attachment, Letter};
use serde::Deserialize;
use serde_json::json as value;

use super::call::{Provider, Received};
use super::failure::{Failure, Kind};
use super::json::parse;
use super::outgoing::Outgoing;
use super::{Senders, json};
use crate::http::base64;
use crate::http::error::Error;
use crate::model::Via;

const MAILPIT: Provider = Provider {
    via: Via::Mailpit,
    recipients: usize::MAX,
    refuse,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Send {
    from: Option<Person>,
    to: Option<Vec<Person>>,
    cc: Option<Vec<Person>>,
    bcc: Option<Vec<String>>,
    reply_to: Option<Vec<Person>>,
    subject: Option<String>,
    text: Option<String>,
    #[serde(rename = "HTML")]
    html: Option<String>,
    attachments: Option<Vec<File>>,
    tags: Option<Vec<String>>,
    headers: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Person {
    email: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    content: String,
    filename: Option<String>,
    content_type: Option<String>,
    #[serde(rename = "ContentID")]
    content_id: Option<String>,
}

pub(in crate::http) async fn send(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    let read = |received: &Received| Ok(vec![parse::<Send>(&received.body)?.into_message()?]);
    MAILPIT
        .send(&senders, request, read, |sent| {
            json(200, &value!({"ID": sent[0].id}))
        })
        .await
}

impl Send {
    fn into_message(self) -> Result<Outgoing, Failure> {
        let from = self
            .from
            .ok_or_else(|| Failure::invalid("From is required"))?;
        let mut headers: Vec<_> = self.headers.unwrap_or_default().into_iter().collect();
        if let Some(tags) = self.tags.filter(|tags| !tags.is_empty()) {
            headers.push(("X-Tags".to_owned(), tags.join(", ")));
        }
        let letter = Letter {
            from: vec![from.into_mailbox("From")?],
            to: people("To", self.to)?,
            cc: people("Cc", self.cc)?,
            reply_to: people("Reply-To", self.reply_to)?,
            subject: self.subject.unwrap_or_default(),
            text: self.text.unwrap_or_default(),
            html: self.html.unwrap_or_default(),
            headers,
            ..Letter::default()
        };
        let bcc = self
            .bcc
            .unwrap_or_default()
            .into_iter()
            .map(Mailbox::bare)
            .collect();
        let files = self
            .attachments
            .unwrap_or_default()
            .into_iter()
            .map(File::into_attachment);
        Ok(Outgoing::new(letter, bcc, files.collect::<Result<_, _>>()?))
    }
}

fn people(field: &str, list: Option<Vec<Person>>) -> Result<Vec<Mailbox>, Failure> {
    list.unwrap_or_default()
        .into_iter()
        .map(|person| person.into_mailbox(field))
        .collect()
}

impl Person {
    fn into_mailbox(self, field: &str) -> Result<Mailbox, Failure> {
        let email = self
            .email
            .ok_or_else(|| Failure::invalid(format!("{field} has an entry without Email")))?;
        Ok(Mailbox::named(self.name, email))
    }
}

impl File {
    fn into_attachment(self) -> Result<Attachment, Failure> {
        // A browser writes the type of a file before its content: data:image/png;base64,iVBORw==
        let content = self.content.rsplit(',').next().unwrap_or_default();
        Ok(Attachment {
            name: self.filename.unwrap_or_default(),
            content_type: self.content_type.unwrap_or_default(),
            content: base64::decode(content)?,
            content_id: self.content_id.filter(|id| !id.is_empty()),
        })
    }
}

fn refuse(failure: &Failure) -> Response {
    let status = match failure.kind {
        Kind::NoCredential | Kind::InvalidKey => 401,
        Kind::Invalid | Kind::Repeated(..) | Kind::NotAllowed | Kind::Rejected => 400,
        Kind::TooLarge => 413,
        Kind::Later => 503,
        Kind::NotFound => 404,
        Kind::Disconnect(_) => 500,
    };
    json(status, &value!({"Error": failure.text}))
}
