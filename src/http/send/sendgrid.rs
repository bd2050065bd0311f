//! SendGrid: `POST /v3/mail/send`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::Response;
use axum::routing::{any, post};
use restante_api::Mailbox;
use restante_mail::compose::{Attachment, Letter};
use serde::Deserialize;
use serde_json::json as value;
use serde_json::value::to_raw_value;

use super::batch::{Batch, Found};
use super::call::{Provider, Received};
use super::failure::{Failure, Kind};
use super::json::{Json, Messages, OneOrMany, Template, empty_object, parse_batch, plain};
use super::outgoing::{Outgoing, Parts, metadata};
use super::{OTHER, Senders, json};
use crate::http::base64;
use crate::http::error::Error;
use crate::http::response::JSON;
use crate::model::Via;

const SENDGRID: Provider = Provider {
    via: Via::Sendgrid,
    recipients: 1_000,
    refuse,
};
/// Maximum number of messages of a request, and of their recipients.
const PERSONALIZATIONS: usize = 1_000;
/// Maximum number of bytes of a personalization's substitutions.
const SUBSTITUTIONS: usize = 10_000;
/// The types of a body that have their place in the list: the plain text is the first.
const ORDERED: [&str; 2] = ["text/plain", "text/html"];

#[derive(Deserialize)]
struct MailSend {
    personalizations: Option<Messages<Personalization, PERSONALIZATIONS>>,
    from: Option<Person>,
    reply_to: Option<Person>,
    reply_to_list: Option<Vec<Person>>,
    subject: Option<String>,
    content: Option<Vec<Body>>,
    attachments: Option<Vec<File>>,
    template_id: Option<String>,
    headers: Option<BTreeMap<String, Json>>,
    categories: Option<OneOrMany>,
    custom_args: Option<BTreeMap<String, Json>>,
}

#[derive(Deserialize)]
struct Personalization {
    to: Option<Vec<Person>>,
    cc: Option<Vec<Person>>,
    bcc: Option<Vec<Person>>,
    from: Option<Person>,
    subject: Option<String>,
    headers: Option<BTreeMap<String, Json>>,
    substitutions: Option<BTreeMap<String, Json>>,
    dynamic_template_data: Option<Json>,
    custom_args: Option<BTreeMap<String, Json>>,
}

#[derive(Deserialize, Clone)]
struct Person {
    email: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "type")]
    content_type: String,
    value: String,
}

#[derive(Deserialize)]
struct File {
    content: String,
    #[serde(rename = "type")]
    content_type: Option<String>,
    filename: Option<String>,
    disposition: Option<String>,
    content_id: Option<String>,
}

pub(super) fn router() -> Router<Arc<Senders>> {
    Router::new()
        .route("/v3/mail/send", post(send))
        .route(OTHER, any(|| async { SENDGRID.unknown() }))
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        parse_batch::<MailSend>(&received.body)?.into_messages(Batch::of(received.most))
    };
    let answer = SENDGRID.send(&senders, request, read, |sent| {
        let mut accepted = super::answer(202, JSON, String::new());
        if let Ok(id) = HeaderValue::try_from(&sent[0].id) {
            accepted.headers_mut().insert("x-message-id", id);
        }
        accepted
    });
    answer.await
}

impl MailSend {
    /// One message for each personalization.
    fn into_messages(mut self, mut batch: Batch) -> Result<Vec<Outgoing>, Failure> {
        let given = self.personalizations.take();
        let personalizations = given.map_or_else(Vec::new, |Messages(given)| given);
        if personalizations.is_empty() {
            return Err(Failure::invalid(format!(
                "The personalizations field is required and must have 1 to {PERSONALIZATIONS} entries."
            )));
        }
        let mut attachments = Vec::new();
        for file in self.attachments.take().unwrap_or_default() {
            attachments.push(file.into_attachment()?);
        }
        let mut common = self.common(&mut attachments)?;
        let parts = Parts::of(&mut common, Arc::new(attachments));
        let recipients = personalizations.iter().map(Personalization::recipients);
        if recipients.sum::<usize>() > PERSONALIZATIONS {
            return Err(Failure::invalid(format!(
                "The total number of recipients of all personalizations must be at most {PERSONALIZATIONS}."
            )));
        }
        let messages = personalizations.into_iter().map(|one| {
            let message = self.message(one, &common, parts.clone(), &mut batch)?;
            batch.add(message)
        });
        messages.collect()
    }

    /// What all messages have.
    fn common(&mut self, attachments: &mut Vec<Attachment>) -> Result<Letter, Failure> {
        let from = self
            .from
            .take()
            .ok_or_else(|| Failure::invalid("The from object must be provided."))?;
        let reply_to = self
            .reply_to
            .take()
            .into_iter()
            .chain(self.reply_to_list.take().unwrap_or_default());
        let mut letter = Letter {
            from: vec![from.into_mailbox()?],
            reply_to: reply_to
                .map(Person::into_mailbox)
                .collect::<Result<_, _>>()?,
            subject: self.subject.take().unwrap_or_default(),
            ..Letter::default()
        };
        let bodies = self.content.take().unwrap_or_default();
        let ranks = bodies.iter().map(Body::rank);
        if !ranks.is_sorted_by(|one, next| one < next || *next == ORDERED.len()) {
            return Err(Failure::invalid(
                "If present, text/plain and text/html may only be provided once, text/plain first, and text/html before \
                 every other type.",
            ));
        }
        for body in bodies {
            match body.kind() {
                "text/plain" => letter.text = body.value,
                "text/html" => letter.html = body.value,
                other => attachments.push(Attachment {
                    name: format!(
                        "content.{}",
                        other.rsplit(['/', '+', '-']).next().unwrap_or_default()
                    ),
                    content_type: body.content_type.clone(),
                    content: body.value.into_bytes(),
                    content_id: None,
                }),
            }
        }
        let tags = self
            .categories
            .take()
            .map(OneOrMany::into_vec)
            .unwrap_or_default();
        letter.headers = fields(self.headers.take());
        letter.headers.extend(
            tags.into_iter()
                .map(|tag| ("X-SendGrid-Category".to_owned(), tag)),
        );
        letter.headers.extend(arguments(self.custom_args.take()));
        Ok(letter)
    }

    fn message(
        &self,
        one: Personalization,
        common: &Letter,
        mut parts: Parts,
        batch: &mut Batch,
    ) -> Result<Outgoing, Failure> {
        let mut letter = common.clone();
        letter.to = people(one.to)?;
        if letter.to.is_empty() {
            return Err(Failure::invalid(
                "The to array is required for all personalization objects.",
            ));
        }
        letter.cc = people(one.cc)?;
        let bcc = people(one.bcc)?;
        unique([&letter.to, &letter.cc, &bcc])?;
        if let Some(from) = one.from {
            letter.from = vec![from.into_mailbox()?];
        }
        if let Some(subject) = one.subject {
            letter.subject = subject;
        }
        // Those of one message replace those of all.
        let own = [fields(one.headers), arguments(one.custom_args)].concat();
        let names: HashSet<_> = own
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        letter
            .headers
            .retain(|(name, _)| !names.contains(&name.to_ascii_lowercase()));
        letter.headers.extend(own);
        if let Some(template) = &self.template_id {
            // Old templates have only substitutions.
            let old = one
                .substitutions
                .as_ref()
                .and_then(|tags| to_raw_value(tags).ok());
            let variables = one
                .dynamic_template_data
                .or(old)
                .unwrap_or_else(empty_object);
            parts.text = Arc::new(
                Template {
                    template,
                    variables: &variables,
                }
                .text(),
            );
            parts.html = Arc::default();
            if letter.subject.is_empty() {
                letter.subject.clone_from(template);
            }
        } else if letter.subject.is_empty() {
            return Err(Failure::invalid("The subject is required."));
        } else if parts.text.is_empty() && parts.html.is_empty() {
            return Err(Failure::invalid(
                "The content value must be a string at least one character in length.",
            ));
        }
        if let Some(tags) = one.substitutions.map(Substitutions::of).transpose()? {
            if let Some(subject) = batch.replaced(&letter.subject, |text| tags.next(text))? {
                letter.subject = subject;
            }
            // Those of a template are its variables, which its text lists.
            let texts = [&mut parts.text, &mut parts.html]
                .into_iter()
                .filter(|_| self.template_id.is_none());
            for text in texts {
                if let Some(replaced) = batch.replaced(text, |text| tags.next(text))? {
                    *text = Arc::new(replaced);
                }
            }
        }
        Ok(Outgoing::sharing(letter, bcc, parts))
    }
}

/// The tags of a personalization, each with its value.
struct Substitutions {
    tags: AhoCorasick,
    values: Vec<String>,
}

impl Substitutions {
    fn of(given: BTreeMap<String, Json>) -> Result<Self, Failure> {
        let given = given.into_iter().filter(|(tag, _)| !tag.is_empty());
        let (tags, values): (Vec<_>, Vec<_>) =
            given.map(|(tag, value)| (tag, plain(&value))).unzip();
        let bytes: usize = tags.iter().chain(&values).map(String::len).sum();
        if bytes > SUBSTITUTIONS {
            return Err(Failure::invalid(format!(
                "The substitutions of a personalization have at most {SUBSTITUTIONS} bytes."
            )));
        }
        let tags = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(tags)
            .map_err(|_| Failure::invalid("The substitutions are too large."))?;
        Ok(Self { tags, values })
    }

    /// The next tag in a text, the longest of those that begin there.
    fn next(&self, text: &str) -> Option<Found<'_>> {
        let found = self.tags.find(text)?;
        let value = &self.values[found.pattern().as_usize()];
        Some((found.range(), value.into()))
    }
}

fn fields(given: Option<BTreeMap<String, Json>>) -> Vec<(String, String)> {
    given
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| (name, plain(&value)))
        .collect()
}

fn arguments(given: Option<BTreeMap<String, Json>>) -> Vec<(String, String)> {
    fields(given)
        .iter()
        .map(|(name, value)| metadata("X-SendGrid-Arg-", name, value))
        .collect()
}

fn people(list: Option<Vec<Person>>) -> Result<Vec<Mailbox>, Failure> {
    list.unwrap_or_default()
        .into_iter()
        .map(Person::into_mailbox)
        .collect()
}

/// Each address may be in one of the fields only, and there once, in any case.
fn unique(fields: [&Vec<Mailbox>; 3]) -> Result<(), Failure> {
    let mut known = HashSet::new();
    let addresses = fields
        .into_iter()
        .flatten()
        .filter_map(|one| one.address.as_ref());
    let mut repeated = addresses.filter(|address| !known.insert(address.to_ascii_lowercase()));
    repeated.next().map_or(Ok(()), |address| {
        Err(Failure::invalid(format!(
            "Each email address in the personalization block should be unique between to, cc, and bcc. We found the \
             first duplicate instance of [{address}]."
        )))
    })
}

impl Personalization {
    fn recipients(&self) -> usize {
        [&self.to, &self.cc, &self.bcc]
            .into_iter()
            .flatten()
            .map(Vec::len)
            .sum()
    }
}

impl Body {
    fn kind(&self) -> &str {
        let kind = self.content_type.split(';').next();
        kind.unwrap_or(&self.content_type).trim()
    }

    fn rank(&self) -> usize {
        let place = ORDERED.iter().position(|kind| *kind == self.kind());
        place.unwrap_or(ORDERED.len())
    }
}

impl Person {
    fn into_mailbox(self) -> Result<Mailbox, Failure> {
        let email = self
            .email
            .ok_or_else(|| Failure::invalid("The email value must be a string."))?;
        Ok(Mailbox::named(self.name, email))
    }
}

impl File {
    fn into_attachment(self) -> Result<Attachment, Failure> {
        let is_inline = self
            .disposition
            .as_deref()
            .is_some_and(|word| word.eq_ignore_ascii_case("inline"));
        let name = self
            .filename
            .ok_or_else(|| Failure::invalid("The filename of an attachment is required."))?;
        Ok(Attachment {
            content: base64::decode(&self.content)?,
            content_type: self.content_type.unwrap_or_default(),
            content_id: self.content_id.filter(|_| is_inline),
            name,
        })
    }
}

fn refuse(failure: &Failure) -> Response {
    let status = match failure.kind {
        Kind::NoCredential | Kind::InvalidKey => 401,
        Kind::Invalid | Kind::Repeated(..) | Kind::Rejected => 400,
        Kind::NotAllowed => 403,
        Kind::TooLarge => 413,
        Kind::Later => 429,
        Kind::NotFound => 404,
        Kind::Disconnect(_) => 500,
    };
    json(
        status,
        &value!({"errors": [{"message": failure.text, "field": null, "help": null}]}),
    )
}
