//! Postmark: `POST /email`, `/email/batch`, `/email/withTemplate`, `/email/batchWithTemplates`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{any, post};
use restante_mail::compose::{Attachment, Letter};
use serde::Deserialize;
use serde_json::{Value, json as value};

use super::call::{Provider, Received};
use super::delivery::Sent;
use super::failure::{Failure, Kind};
use super::json::{Json, Messages, Template, empty_object, parse, parse_batch, plain};
use super::outgoing::{Addresses, Outgoing, metadata};
use super::{OTHER, Senders, json};
use crate::http::base64;
use crate::http::error::Error;
use crate::http::sending;
use crate::model::Via;

const POSTMARK: Provider = Provider {
    via: Via::Postmark,
    recipients: 50,
    refuse,
};
/// A batch has at most 500 messages.
type Batch = Messages<Email, 500>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Email {
    from: Option<String>,
    to: Option<String>,
    cc: Option<String>,
    bcc: Option<String>,
    reply_to: Option<String>,
    subject: Option<String>,
    text_body: Option<String>,
    html_body: Option<String>,
    tag: Option<String>,
    metadata: Option<BTreeMap<String, Json>>,
    headers: Option<Vec<Header>>,
    attachments: Option<Vec<File>>,
    message_stream: Option<String>,
    template_id: Option<Json>,
    template_alias: Option<String>,
    template_model: Option<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Header {
    name: String,
    value: Json,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    name: Option<String>,
    content: String,
    content_type: Option<String>,
    #[serde(rename = "ContentID", alias = "ContentId")]
    content_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Templates {
    messages: Batch,
}

pub(super) fn router() -> Router<Arc<Senders>> {
    routes().route(OTHER, any(|| async { POSTMARK.unknown() }))
}

pub(super) fn routes() -> Router<Arc<Senders>> {
    let [
        one,
        batch,
        template,
        templates,
        template_slash,
        templates_slash,
    ] = sending::POSTMARK;
    let single = [one, template, template_slash].map(|path| (path, post(send)));
    let several = [templates, templates_slash].map(|path| (path, post(send_templates)));
    let routes = single
        .into_iter()
        .chain(several)
        .chain([(batch, post(send_batch))]);
    routes.fold(Router::new(), |router, (path, handler)| {
        router.route(path, handler)
    })
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        Ok(vec![
            parse::<Email>(&received.body)?.into_message(received.addresses)?,
        ])
    };
    let at = senders.app.service.clock().now().to_string();
    POSTMARK
        .send(&senders, request, read, |sent| {
            json(200, &accepted(&sent[0], &at))
        })
        .await
}

async fn send_batch(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    send_all(&senders, request, |received| parse_batch(&received.body)).await
}

async fn send_templates(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    send_all(&senders, request, |received| {
        Ok(parse_batch::<Templates>(&received.body)?.messages)
    })
    .await
}

/// Sends each message that can be sent; the answer says which.
async fn send_all(
    senders: &Senders,
    request: Request,
    emails: fn(&Received) -> Result<Batch, Failure>,
) -> Result<Response, Error> {
    let read = move |received: &Received| {
        let Messages(emails) = emails(received)?;
        Ok(emails
            .into_iter()
            .map(|email| email.into_message(received.addresses))
            .collect())
    };
    let at = senders.app.service.clock().now().to_string();
    let answer = |outcomes: &[Result<Sent, Failure>]| {
        let each = outcomes.iter().map(|outcome| match outcome {
            Ok(sent) => accepted(sent, &at),
            Err(failure) => error(failure).1,
        });
        json(200, &Value::Array(each.collect()))
    };
    POSTMARK.send_each(senders, request, read, answer).await
}

fn accepted(sent: &Sent, at: &str) -> Value {
    value!({
        "To": sent.recipients.join(", "),
        "SubmittedAt": at,
        "MessageID": sent.id,
        "ErrorCode": 0,
        "Message": "OK",
    })
}

impl Email {
    fn into_message(self, addresses: Addresses) -> Result<Outgoing, Failure> {
        let of =
            |name: &str, field: Option<String>| addresses.one(name, &field.unwrap_or_default());
        let mut letter = Letter {
            from: of("From", self.from)?,
            to: of("To", self.to)?,
            cc: of("Cc", self.cc)?,
            reply_to: of("ReplyTo", self.reply_to)?,
            subject: self.subject.unwrap_or_default(),
            text: self.text_body.unwrap_or_default(),
            html: self.html_body.unwrap_or_default(),
            ..Letter::default()
        };
        if letter.from.is_empty() {
            return Err(Failure::invalid("Invalid 'From' address: it is missing."));
        }
        let template = self
            .template_alias
            .or_else(|| self.template_id.as_deref().map(plain));
        if let Some(template) = &template {
            let variables = self.template_model.unwrap_or_else(empty_object);
            letter.text = Template {
                template,
                variables: &variables,
            }
            .text();
            letter.subject.clone_from(template);
        } else if letter.text.is_empty() && letter.html.is_empty() {
            return Err(Failure::invalid(
                "Provide either email TextBody or HtmlBody or both.",
            ));
        }
        letter.headers = self
            .headers
            .unwrap_or_default()
            .into_iter()
            .map(|one| (one.name, plain(&one.value)))
            .collect();
        let tag = [
            ("X-PM-Tag", self.tag),
            ("X-PM-Message-Stream", self.message_stream),
        ];
        letter.headers.extend(
            tag.into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?))),
        );
        let given = self.metadata.unwrap_or_default().into_iter();
        letter
            .headers
            .extend(given.map(|(name, value)| metadata("X-PM-Metadata-", &name, &plain(&value))));
        let files = self
            .attachments
            .unwrap_or_default()
            .into_iter()
            .map(File::into_attachment);
        Ok(Outgoing::new(
            letter,
            of("Bcc", self.bcc)?,
            files.collect::<Result<_, _>>()?,
        ))
    }
}

impl File {
    fn into_attachment(self) -> Result<Attachment, Failure> {
        let id = self.content_id.filter(|id| !id.is_empty());
        Ok(Attachment {
            name: self.name.unwrap_or_default(),
            content_type: self.content_type.unwrap_or_default(),
            content: base64::decode(&self.content)?,
            content_id: id.map(|id| id.strip_prefix("cid:").unwrap_or(&id).to_owned()),
        })
    }
}

fn refuse(failure: &Failure) -> Response {
    let (status, body) = error(failure);
    json(status, &body)
}

fn error(failure: &Failure) -> (u16, Value) {
    let (status, code) = match failure.kind {
        Kind::NoCredential | Kind::InvalidKey => (401, 10),
        Kind::Invalid | Kind::Repeated(..) | Kind::Rejected => (422, 300),
        Kind::NotAllowed => (422, 412),
        Kind::TooLarge => (413, 300),
        Kind::Later => (429, 429),
        Kind::NotFound => (404, 404),
        Kind::Disconnect(_) => (500, 500),
    };
    (status, value!({"ErrorCode": code, "Message": failure.text}))
}
