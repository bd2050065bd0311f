//! Version 1: `SendEmail` and `SendRawEmail`, as forms that are answered with XML.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use restante_mail::compose::Letter;

use crate::http::base64;
use crate::http::error::Error;
use crate::http::send::call::{Provider, Received};
use crate::http::send::failure::{Failure, Kind};
use crate::http::send::form::Form;
use crate::http::send::outgoing::{Addresses, Outgoing};
use crate::http::send::{Senders, answer};
use crate::model::Via;

const SES: Provider = Provider {
    via: Via::Ses,
    recipients: 50,
    refuse,
};
const NAMESPACE: &str = "http://ses.amazonaws.com/doc/2010-12-01/";
const XML: &str = "text/xml";

pub(super) fn router(path: &str) -> Router<Arc<Senders>> {
    Router::new().route(path, post(send))
}

async fn send(State(senders): State<Arc<Senders>>, request: Request) -> Result<Response, Error> {
    let read = |received: &Received| {
        let form = Form::parse(&received.headers, &received.body)?;
        match form.first("Action").unwrap_or_default() {
            "SendEmail" => Ok(vec![email(&form, received.addresses)?]),
            "SendRawEmail" => Ok(vec![raw_email(&form, received.addresses)?]),
            other => Err(Failure::new(
                Kind::NotFound,
                format!("this server does not have the action {other}"),
            )),
        }
    };
    let answer = SES.send(&senders, request, read, |sent| {
        let action = if sent[0].is_raw { "SendRawEmail" } else { "SendEmail" };
        let id = &sent[0].id;
        answer(
            200,
            XML,
            format!(
                "<{action}Response xmlns=\"{NAMESPACE}\"><{action}Result><MessageId>{id}</MessageId></{action}Result>\
                 <ResponseMetadata><RequestId>{id}</RequestId></ResponseMetadata></{action}Response>"
            ),
        )
    });
    answer.await
}

fn email(form: &Form, addresses: Addresses) -> Result<Outgoing, Failure> {
    let list = |prefix: &str| {
        let values = form
            .beginning(prefix)
            .filter(|(rest, _)| rest.starts_with(".member."));
        addresses.all(prefix, values.map(|(_, value)| value))
    };
    let text = |name: &str| form.first(name).unwrap_or_default().to_owned();
    let letter = Letter {
        from: addresses.one("Source", &text("Source"))?,
        to: list("Destination.ToAddresses")?,
        cc: list("Destination.CcAddresses")?,
        reply_to: list("ReplyToAddresses")?,
        subject: text("Message.Subject.Data"),
        text: text("Message.Body.Text.Data"),
        html: text("Message.Body.Html.Data"),
        headers: tags(form),
        ..Letter::default()
    };
    if form
        .first("Message.Body.Text.Data")
        .or(form.first("Message.Body.Html.Data"))
        .is_none()
    {
        return Err(Failure::invalid("Missing required parameter: Message.Body"));
    }
    let message = Outgoing::new(letter, list("Destination.BccAddresses")?, Vec::new());
    Ok(Outgoing {
        sender: form.first("ReturnPath").map(str::to_owned),
        ..message
    })
}

fn raw_email(form: &Form, addresses: Addresses) -> Result<Outgoing, Failure> {
    let data = form
        .first("RawMessage.Data")
        .ok_or_else(|| Failure::invalid("Missing parameter: RawMessage.Data"))?;
    let recipients = addresses.all(
        "Destinations",
        form.beginning("Destinations.member.")
            .map(|(_, value)| value),
    )?;
    let message = Outgoing::raw(&base64::decode(data)?, recipients, addresses)?;
    let source = addresses.one("Source", form.first("Source").unwrap_or_default())?;
    let source = source.into_iter().next().and_then(|source| source.address);
    Ok(Outgoing {
        sender: source.or(message.sender),
        ..message
    })
}

/// The tags as the fields that version 1 takes from a raw message.
fn tags(form: &Form) -> Vec<(String, String)> {
    let names = form
        .beginning("Tags.member.")
        .filter_map(|(rest, name)| Some((rest.strip_suffix(".Name")?, name)));
    let tag = |(number, name): (&str, &str)| {
        let value = form
            .first(&format!("Tags.member.{number}.Value"))
            .unwrap_or_default();
        format!("{name}={value}")
    };
    let tags: Vec<_> = names.map(tag).collect();
    super::v2::tag_headers(&tags, form.first("ConfigurationSetName"))
}

fn refuse(failure: &Failure) -> Response {
    let (status, code) = super::v2::error(failure);
    let code = match failure.kind {
        // The code that clients of this version repeat.
        Kind::Later => "Throttling",
        _ => code.trim_end_matches("Exception"),
    };
    let kind = if status < 500 { "Sender" } else { "Receiver" };
    let text = failure
        .text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    answer(
        status,
        XML,
        format!(
            "<ErrorResponse xmlns=\"{NAMESPACE}\"><Error><Type>{kind}</Type><Code>{code}</Code>\
             <Message>{text}</Message></Error><RequestId>refused</RequestId></ErrorResponse>"
        ),
    )
}
