//! Mailgun: `POST /v3/{domain}/messages` and `/messages.mime`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{any, post};
use restante_mail::compose::{Attachment, Letter};
use serde_json::json as value;
use serde_json::value::to_raw_value;

use super::batch::{Batch, Found, MESSAGES};
use super::call::{Provider, Received};
use super::failure::{Failure, Kind};
use super::form::{File, Form};
use super::json::{Json, Template, parse, parse_batch, plain};
use super::outgoing::{Addresses, Content, Outgoing, Parts, metadata};
use super::{OTHER, Senders, json};
use crate::http::error::Error;
use crate::model::Via;

const MAILGUN: Provider = Provider {
    via: Via::Mailgun,
    recipients: 1_000,
    refuse,
};

/// The variables of each recipient.
type Recipients = BTreeMap<String, BTreeMap<String, Json>>;

pub(super) fn router() -> Router<Arc<Senders>> {
    Router::new()
        .route("/v3/{domain}/messages", post(send))
        .route("/v3/{domain}/messages.mime", post(send_mime))
        .route(OTHER, any(|| async { MAILGUN.unknown() }))
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        let form = Form::parse(&received.headers, &received.body)?;
        messages(form, received.addresses, Batch::of(received.most))
    };
    MAILGUN
        .send(&senders, request, read, |sent| queued(&sent[0].message_id))
        .await
}

async fn send_mime(
    State(senders): State<Arc<Senders>>,
    request: Request,
) -> Result<Response, Error> {
    let read = |received: &Received| {
        let form = Form::parse(&received.headers, &received.body)?;
        let file = form
            .files
            .iter()
            .find(|file| file.field == "message")
            .map(|file| &file.content[..]);
        let message = file.or(form.first("message").map(str::as_bytes));
        let message = message.ok_or_else(|| Failure::invalid("message parameter is missing"))?;
        let to = received.addresses.all("to", form.all("to"))?;
        if to.is_empty() {
            return Err(Failure::invalid("to parameter is missing"));
        }
        Ok(vec![Outgoing::raw(message, to, received.addresses)?])
    };
    MAILGUN
        .send(&senders, request, read, |sent| queued(&sent[0].message_id))
        .await
}

fn queued(message_id: &str) -> Response {
    json(
        200,
        &value!({"id": message_id, "message": "Queued. Thank you."}),
    )
}

/// One message, or with variables of the recipients one for each of them.
fn messages(form: Form, addresses: Addresses, mut batch: Batch) -> Result<Vec<Outgoing>, Failure> {
    let recipients: Recipients = match form.first("recipient-variables") {
        Some(json) if !json.trim().is_empty() => parse_batch(json.as_bytes())?,
        _ => Recipients::new(),
    };
    let to = if recipients.is_empty() {
        addresses
    } else {
        Addresses::up_to(MESSAGES)
    };
    let mut letter = letter(&form, to, addresses)?;
    // The text is then the template's JSON.
    let is_json = form.first("template").is_some();
    let bcc = addresses.all("bcc", form.all("bcc"))?;
    let parts = Parts::of(
        &mut letter,
        Arc::new(form.files.into_iter().filter_map(attachment).collect()),
    );
    if recipients.is_empty() {
        return Ok(vec![Outgoing::sharing(letter, bcc, parts)]);
    }
    let to = take(&mut letter.to);
    if to.len() > MESSAGES {
        return Err(Failure::invalid(format!(
            "a request sends at most {MESSAGES} messages"
        )));
    }
    let each = to.into_iter().map(|to| {
        let address = to.address.as_deref().unwrap_or_default();
        let variables = Variables {
            address,
            own: recipients.get(address),
            is_json: false,
        };
        let common = Outgoing::sharing(
            Letter {
                to: vec![to.clone()],
                ..letter.clone()
            },
            bcc.clone(),
            parts.clone(),
        );
        let message = personal(common, variables, is_json, &mut batch)?;
        batch.add(message)
    });
    each.collect()
}

fn letter(form: &Form, to: Addresses, addresses: Addresses) -> Result<Letter, Failure> {
    let missing = |name: &str| Failure::invalid(format!("{name} parameter is missing"));
    let text = |name: &str| form.first(name).unwrap_or_default().to_owned();
    let mut letter = Letter {
        from: addresses.all("from", form.first("from"))?,
        to: to.all("to", form.all("to"))?,
        cc: addresses.all("cc", form.all("cc"))?,
        subject: text("subject"),
        text: text("text"),
        html: text("html"),
        ..Letter::default()
    };
    if letter.from.is_empty() {
        return Err(missing("from"));
    }
    if letter.to.is_empty() {
        return Err(missing("to"));
    }
    if let Some(template) = form.first("template") {
        letter.text = Template {
            template,
            variables: &template_variables(form)?,
        }
        .text();
        if letter.subject.is_empty() {
            template.clone_into(&mut letter.subject);
        }
    } else if letter.text.is_empty() && letter.html.is_empty() {
        return Err(Failure::invalid(
            "Need at least one of 'text' or 'html' parameters specified",
        ));
    }
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    letter.headers = form.beginning("h:").map(own).collect();
    letter.headers.extend(
        form.all("o:tag")
            .map(|tag| ("X-Mailgun-Tag".to_owned(), tag.to_owned())),
    );
    let variables = form
        .beginning("v:")
        .map(|(name, value)| metadata("X-Mailgun-Variable-", name, value));
    letter.headers.extend(variables);
    Ok(letter)
}

/// What a stored template can show: the variables of the message, and those for the template, which
/// come first.
fn template_variables(form: &Form) -> Result<Json, Failure> {
    let of_message = form
        .beginning("v:")
        .map(|(name, value)| Ok((name.to_owned(), to_raw_value(value)?)));
    let mut variables: BTreeMap<String, Json> = of_message
        .collect::<Result<_, serde_json::Error>>()
        .map_err(Failure::invalid)?;
    let given = form
        .first("t:variables")
        .or_else(|| form.first("h:X-Mailgun-Variables"));
    if let Some(given) = given {
        variables.extend(parse::<BTreeMap<String, Json>>(given.as_bytes())?);
    }
    to_raw_value(&variables).map_err(Failure::invalid)
}

/// The message for one recipient, with `%recipient.NAME%` replaced. Its text may be JSON.
fn personal(
    mut message: Outgoing,
    mut variables: Variables<'_>,
    is_json: bool,
    batch: &mut Batch,
) -> Result<Outgoing, Failure> {
    let Content::Letter(letter, parts) = &mut message.content else {
        return Ok(message);
    };
    let headers = letter.headers.iter_mut().map(|(_, value)| value);
    for text in headers.chain([&mut letter.subject]) {
        if let Some(replaced) = batch.replaced(text, |text| variables.next(text))? {
            *text = replaced;
        }
    }
    for (text, is_json) in [(&mut parts.text, is_json), (&mut parts.html, false)] {
        variables.is_json = is_json;
        if let Some(replaced) = batch.replaced(text, |text| variables.next(text))? {
            *text = Arc::new(replaced);
        }
    }
    Ok(message)
}

/// What replaces the tags in the message for one recipient.
struct Variables<'a> {
    address: &'a str,
    own: Option<&'a BTreeMap<String, Json>>,
    /// Whether the text is JSON, in which they stand within strings.
    is_json: bool,
}

impl Variables<'_> {
    /// The next tag in a text.
    fn next(&self, text: &str) -> Option<Found<'_>> {
        let mut tags = text.match_indices("%recipient");
        tags.find_map(|(start, _)| {
            let (length, value) = self.at(&text[start..])?;
            let value = if self.is_json { in_json(&value) } else { value };
            Some((start..start + length, value))
        })
    }

    /// The length and the value of the tag with which a text begins.
    fn at(&self, rest: &str) -> Option<(usize, Cow<'_, str>)> {
        let after = rest.strip_prefix("%recipient")?;
        let (name, after_tag) = after.split_once('%')?;
        let length = rest.len() - after_tag.len();
        match name {
            "" | "_email" => Some((length, self.address.into())),
            _ => Some((
                length,
                plain(self.own?.get(name.strip_prefix('.')?)?).into(),
            )),
        }
    }
}

/// A text within a string of JSON.
fn in_json(text: &str) -> Cow<'static, str> {
    let quoted = value!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned().into()
}

/// The HTML refers to an inline file by its name.
fn attachment(file: File) -> Option<Attachment> {
    let File {
        field,
        name,
        content_type,
        content,
    } = file;
    let is_inline = field == "inline";
    let wanted = is_inline || field == "attachment";
    let content_id = is_inline.then(|| name.clone());
    wanted.then(|| Attachment {
        name,
        content_type,
        content: content.into(),
        content_id,
    })
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
    json(status, &value!({"message": failure.text}))
}
