//! Forwarding a message. The browser remembers the last address of each project in a cookie.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::failure::PageError;
use super::guard;
use super::page::{Shell, again, html, see, subject};
use super::parts::MessagePath;
use super::visit::{Form, InboxPage, Params};
use crate::http::App;
use crate::http::error::Error;
use crate::model::{EmailAddress, OutgoingId};
use crate::service::{MessageStart, ServiceError};

/// The name of the cookie with the last address.
const COOKIE_NAME: &str = "restante_forward";
/// How long it is kept, in seconds.
const COOKIE_SECONDS: u32 = 180 * 24 * 60 * 60;

#[derive(Template)]
#[template(path = "forward.html")]
struct ForwardPage {
    shell: Shell,
    /// The URL of the message.
    message_url: String,
    subject: String,
    from: String,
    to: String,
    problem: Option<String>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    page: InboxPage,
    Params(MessagePath { message }): Params<MessagePath>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let message = find(&app, &page, &message).await?;
    Ok(html(&forward_page(
        &app,
        &page,
        &message,
        last_address(&headers),
    ))?)
}

pub(super) async fn send(
    State(app): State<Arc<App>>,
    page: InboxPage,
    Params(MessagePath { message }): Params<MessagePath>,
    form: Form,
) -> Result<Response, PageError> {
    let message = find(&app, &page, &message).await?;
    let to = form.text("to").trim();
    match forward(&app, &page, &message, to).await {
        Ok(_) => Ok(remembering(
            &app,
            &page,
            to,
            see(&page.of.path("/outgoing")),
        )),
        Err(error) => {
            let page = forward_page(&app, &page, &message, to.to_owned());
            Ok(again(error, |problem| ForwardPage {
                problem: Some(problem),
                ..page
            })?)
        }
    }
}

async fn forward(
    app: &App,
    page: &InboxPage,
    message: &MessageStart,
    to: &str,
) -> Result<OutgoingId, Error> {
    let to = EmailAddress::parse(to).map_err(|_| Error::InvalidField("to"))?;
    let caller = page.of.caller();
    let place = app.service.begin_send(&caller).await?;
    Ok(app
        .service
        .forward(place, &caller, &message.head.id.to_string(), to)
        .await?)
}

/// The message, if it is in the inbox of the page.
async fn find(app: &App, page: &InboxPage, id: &str) -> Result<MessageStart, Error> {
    let message = app.service.message_start(&page.of.caller(), id, 0).await?;
    if message.head.inbox_id == page.inbox.id {
        Ok(message)
    } else {
        Err(ServiceError::MessageNotFound.into())
    }
}

fn forward_page(app: &App, page: &InboxPage, message: &MessageStart, to: String) -> ForwardPage {
    ForwardPage {
        shell: page.of.shell("Forward", "inbox"),
        message_url: format!("{}/messages/{}", page.path(), message.head.id),
        subject: subject(&message.head.subject),
        from: page.inbox.address(app.service.mail_domain()),
        to,
        problem: None,
    }
}

/// The address in the cookie; empty if there is none.
fn last_address(headers: &HeaderMap) -> String {
    let value = guard::cookie(headers, COOKIE_NAME).unwrap_or_default();
    EmailAddress::parse(value)
        .map(|address| address.to_string())
        .unwrap_or_default()
}

/// Adds the cookie with the address, for the pages of this project only. An address that a cookie
/// cannot contain is not remembered.
fn remembering(app: &App, page: &InboxPage, to: &str, mut response: Response) -> Response {
    let is_plain = to
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~@-".contains(&byte));
    let secure = if app.base_url.is_https() {
        "; Secure"
    } else {
        ""
    };
    let path = page.of.path("");
    let cookie = format!(
        "{COOKIE_NAME}={to}; Path={path}; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"
    );
    if is_plain && let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
