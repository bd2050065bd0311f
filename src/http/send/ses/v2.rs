//! Version 2: `SendEmail` and `SendBulkEmail`, with JSON.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::Response;
use axum::routing::{any, post};
use restante_api::Mailbox;
use restante_mail::compose::{Attachment, Letter};
use serde::Deserialize;
use serde_json::{Value, json as value};

use super::template::{Rendered, Template};
use crate::http::base64;
use crate::http::error::Error;
use crate::http::send::batch::Batch;
use crate::http::send::call::{Provider, Received};
use crate::http::send::delivery::Sent;
use crate::http::send::failure::{Failure, Kind};
use crate::http::send::json::{Messages, parse, parse_batch};
use crate::http::send::outgoing::{Addresses, Outgoing, Parts};
use crate::http::send::{OTHER, Senders, json};
use crate::model::Via;

const SES: Provider = Provider {
    via: Via::Ses,
    recipients: 50,
    refuse,
};
/// Maximum number of entries of a bulk email.
const ENTRIES: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendEmail {
    from_email_address: Option<String>,
    destination: Option<Destination>,
    reply_to_addresses: Option<Vec<String>>,
    feedback_forwarding_email_address: Option<String>,
    content: Option<Content>,
    email_tags: Option<Vec<Pair>>,
    configuration_set_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendBulkEmail {
    from_email_address: Option<String>,
    reply_to_addresses: Option<Vec<String>>,
    feedback_forwarding_email_address: Option<String>,
    default_email_tags: Option<Vec<Pair>>,
    default_content: Option<Content>,
    bulk_email_entries: Messages<Entry, ENTRIES>,
    configuration_set_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    destination: Option<Destination>,
    replacement_tags: Option<Vec<Pair>>,
    replacement_email_content: Option<Replacement>,
    replacement_headers: Option<Vec<Pair>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replacement {
    replacement_template: Option<ReplacementTemplate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReplacementTemplate {
    replacement_template_data: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Destination {
    to_addresses: Option<Vec<String>>,
    cc_addresses: Option<Vec<String>>,
    bcc_addresses: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Content {
    simple: Option<Simple>,
    raw: Option<Raw>,
    template: Option<Template>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Simple {
    subject: Text,
    body: Body,
    headers: Option<Vec<Pair>>,
    attachments: Option<Vec<File>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    text: Option<Text>,
    html: Option<Text>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Text {
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Raw {
    data: String,
}

/// A header field or a tag.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Pair {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct File {
    raw_content: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content_disposition: Option<String>,
    content_id: Option<String>,
}

pub(super) fn router() -> Router<Arc<Senders>> {
    Router::new()
        .route("/v2/email/outbound-emails", post(send))
        .route("/v2/email/outbound-bulk-emails", post(send_bulk))
        .route(OTHER, any(|| async { SES.unknown() }))
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        Ok(vec![
            parse::<SendEmail>(&received.body)?.into_message(received)?,
        ])
    };
    SES.send(&senders, request, read, |sent| {
        json(200, &value!({"MessageId": sent[0].id}))
    })
    .await
}

async fn send_bulk(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    let read =
        |received: &Received| parse_batch::<SendBulkEmail>(&received.body)?.into_messages(received);
    let answer = |outcomes: &[Result<Sent, Failure>]| {
        let each = outcomes.iter().map(|outcome| match outcome {
            Ok(sent) => value!({"Status": "SUCCESS", "MessageId": sent.id}),
            Err(failure) => value!({"Status": bulk_status(failure.kind), "Error": failure.text}),
        });
        json(
            200,
            &value!({"BulkEmailEntryResults": each.collect::<Vec<Value>>()}),
        )
    };
    SES.send_each(&senders, request, read, answer).await
}

impl SendEmail {
    fn into_message(self, received: &Received) -> Result<Outgoing, Failure> {
        let addresses = received.addresses;
        let content = self.content.ok_or_else(|| missing("Content"))?;
        let destination = self.destination.unwrap_or_default();
        if let Some(Raw { data }) = content.raw {
            let message = Outgoing::raw(
                &base64::decode(&data)?,
                destination.all(addresses)?,
                addresses,
            )?;
            let from = addresses.one(
                "FromEmailAddress",
                &self.from_email_address.unwrap_or_default(),
            )?;
            let from = from.into_iter().next().and_then(|from| from.address);
            let sender = self
                .feedback_forwarding_email_address
                .or(from)
                .or(message.sender);
            return Ok(Outgoing { sender, ..message });
        }
        let rendered = match (content.simple, &content.template) {
            (Some(simple), _) => simple.rendered()?,
            (None, Some(template)) => template.render(&template.files()?, None)?,
            (None, None) => return Err(missing("Content.Simple, Content.Raw or Content.Template")),
        };
        let envelope = Envelope {
            from: self.from_email_address.as_deref(),
            reply_to: self.reply_to_addresses.as_deref(),
            sender: self.feedback_forwarding_email_address.as_deref(),
            tags: self.email_tags.as_deref(),
            set: self.configuration_set_name.as_deref(),
        };
        envelope.message(&destination, addresses, rendered)
    }
}

impl SendBulkEmail {
    /// Each message, or why it cannot be sent.
    fn into_messages(self, received: &Received) -> Result<Vec<Result<Outgoing, Failure>>, Failure> {
        let Messages(entries) = self.bulk_email_entries;
        if entries.is_empty() {
            return Err(Failure::invalid(format!(
                "BulkEmailEntries must have 1 to {ENTRIES} entries"
            )));
        }
        let template = self.default_content.and_then(|content| content.template);
        let template = template.ok_or_else(|| missing("DefaultContent.Template"))?;
        let addresses = received.addresses;
        let files = template.files()?;
        let mut batch = Batch::of(received.most);
        let mut message = |entry: Entry| {
            let replacement = entry
                .replacement_email_content
                .and_then(|content| content.replacement_template);
            let data = replacement.and_then(|template| template.replacement_template_data);
            let mut rendered = template.render(&files, data.as_deref())?;
            rendered.headers.extend(pairs(entry.replacement_headers));
            let envelope = Envelope {
                from: self.from_email_address.as_deref(),
                reply_to: self.reply_to_addresses.as_deref(),
                sender: self.feedback_forwarding_email_address.as_deref(),
                tags: entry
                    .replacement_tags
                    .as_deref()
                    .or(self.default_email_tags.as_deref()),
                set: self.configuration_set_name.as_deref(),
            };
            let destination = entry.destination.unwrap_or_default();
            batch.add(envelope.message(&destination, addresses, rendered)?)
        };
        let each = entries.into_iter().map(|entry| match message(entry) {
            Err(failure) if failure.kind == Kind::TooLarge => Err(failure),
            made => Ok(made),
        });
        each.collect()
    }
}

/// What a message has in addition to its destination and its content.
struct Envelope<'a> {
    from: Option<&'a str>,
    reply_to: Option<&'a [String]>,
    sender: Option<&'a str>,
    tags: Option<&'a [Pair]>,
    set: Option<&'a str>,
}

impl Envelope<'_> {
    fn message(
        &self,
        destination: &Destination,
        addresses: Addresses,
        rendered: Rendered,
    ) -> Result<Outgoing, Failure> {
        let list =
            |name: &str, given: Option<&[String]>| addresses.all(name, given.into_iter().flatten());
        let Rendered {
            subject,
            text,
            html,
            mut headers,
            attachments,
        } = rendered;
        let tags: Vec<_> = self
            .tags
            .into_iter()
            .flatten()
            .map(|tag| format!("{}={}", tag.name, tag.value))
            .collect();
        headers.extend(tag_headers(&tags, self.set));
        let from = addresses.one("FromEmailAddress", self.from.unwrap_or_default())?;
        if from.is_empty() {
            return Err(missing("FromEmailAddress"));
        }
        let parts = Parts {
            text: Arc::new(text),
            html: Arc::new(html),
            attachments,
        };
        let letter = Letter {
            from,
            to: list("ToAddresses", destination.to_addresses.as_deref())?,
            cc: list("CcAddresses", destination.cc_addresses.as_deref())?,
            reply_to: list("ReplyToAddresses", self.reply_to)?,
            subject,
            headers,
            ..Letter::default()
        };
        let bcc = list("BccAddresses", destination.bcc_addresses.as_deref())?;
        let message = Outgoing::sharing(letter, bcc, parts);
        Ok(Outgoing {
            sender: self.sender.map(str::to_owned),
            ..message
        })
    }
}

impl Destination {
    fn all(&self, addresses: Addresses) -> Result<Vec<Mailbox>, Failure> {
        let lists = [&self.to_addresses, &self.cc_addresses, &self.bcc_addresses];
        addresses.all("Destination", lists.into_iter().flatten().flatten())
    }
}

impl Simple {
    fn rendered(self) -> Result<Rendered, Failure> {
        let text = |text: Option<Text>| text.unwrap_or_default().data;
        Ok(Rendered {
            subject: self.subject.data,
            text: text(self.body.text),
            html: text(self.body.html),
            headers: pairs(self.headers),
            attachments: files(self.attachments.as_deref()).map(Arc::new)?,
        })
    }
}

pub(super) fn pairs(given: Option<Vec<Pair>>) -> Vec<(String, String)> {
    given
        .unwrap_or_default()
        .into_iter()
        .map(|Pair { name, value }| (name, value))
        .collect()
}

/// The files as attachments.
pub(super) fn files(given: Option<&[File]>) -> Result<Vec<Attachment>, Failure> {
    let file = |file: &File| {
        let is_inline = file.content_disposition.as_deref() == Some("INLINE");
        Ok(Attachment {
            name: file.file_name.clone().unwrap_or_default(),
            content_type: file.content_type.clone().unwrap_or_default(),
            content: base64::decode(&file.raw_content)?,
            content_id: file.content_id.clone().filter(|_| is_inline),
        })
    };
    given.into_iter().flatten().map(file).collect()
}

/// The tags as in the header of a raw message.
pub(super) fn tag_headers(tags: &[String], set: Option<&str>) -> Vec<(String, String)> {
    let tags = (!tags.is_empty()).then(|| ("X-SES-MESSAGE-TAGS".to_owned(), tags.join(", ")));
    let set = set.map(|name| ("X-SES-CONFIGURATION-SET".to_owned(), name.to_owned()));
    tags.into_iter().chain(set).collect()
}

fn missing(name: &str) -> Failure {
    Failure::invalid(format!("Missing required field: {name}"))
}

fn bulk_status(kind: Kind) -> &'static str {
    match kind {
        Kind::Later => "TRANSIENT_FAILURE",
        Kind::Invalid | Kind::Repeated(..) => "INVALID_PARAMETER",
        _ => "MESSAGE_REJECTED",
    }
}

fn refuse(failure: &Failure) -> Response {
    let (status, code) = error(failure);
    let mut response = json(status, &value!({"message": failure.text}));
    response
        .headers_mut()
        .insert("x-amzn-errortype", HeaderValue::from_static(code));
    response
}

/// The status and the code of an error.
pub(super) fn error(failure: &Failure) -> (u16, &'static str) {
    match failure.kind {
        Kind::NoCredential => (403, "MissingAuthenticationTokenException"),
        Kind::InvalidKey => (403, "UnrecognizedClientException"),
        Kind::Invalid | Kind::Repeated(..) => (400, "BadRequestException"),
        Kind::NotAllowed | Kind::Rejected => (400, "MessageRejected"),
        Kind::TooLarge => (400, "BadRequestException"),
        Kind::Later => (429, "TooManyRequestsException"),
        Kind::NotFound => (404, "NotFoundException"),
        Kind::Disconnect(_) => (500, "InternalServiceErrorException"),
    }
}
