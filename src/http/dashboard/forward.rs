//! Forwarding a message. The browser remembers the last address of each project in a cookie.

use askama::Template;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::guard;
use super::page::{Answer, Shell, again, html, see};
use super::plain;
use super::visit::{Form, InboxPage};
use crate::http::error::Error;
use crate::model::{EmailAddress, OutgoingId};
use crate::service::MessageStart;

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

pub(super) async fn show(page: InboxPage) -> Answer {
    let message = find(&page).await?;
    let to = last_address(&page.headers);
    Ok(html(&forward_page(&page, message, to).await?)?)
}

pub(super) async fn send(page: InboxPage, form: Form) -> Answer {
    let message = find(&page).await?;
    let to = form.text("to").trim();
    match forward(&page, &message, to).await {
        Ok(_) => Ok(remembering(&page, to, see(&page.path("/outgoing")))),
        Err(error) => {
            let page = forward_page(&page, message, to.to_owned()).await?;
            again(error, |problem| ForwardPage {
                problem: Some(problem),
                ..page
            })
        }
    }
}

async fn forward(page: &InboxPage, message: &MessageStart, to: &str) -> Result<OutgoingId, Error> {
    let to = EmailAddress::parse(to).map_err(|_| Error::InvalidField("to"))?;
    let service = page.service();
    let caller = page.caller();
    let place = service.begin_send(&caller).await?;
    let id = message.head.id.to_string();
    Ok(service.forward(place, &caller, &id, to).await?)
}

/// The message, if it is in the inbox of the page.
async fn find(page: &InboxPage) -> Result<MessageStart, Error> {
    let id = page.parameter("message")?;
    let message = page.service().message_start(&page.caller(), id, 0).await?;
    match message.head.inbox_id == page.inbox.id {
        true => Ok(message),
        false => Err(Error::MessageNotFound),
    }
}

async fn forward_page(
    page: &InboxPage,
    message: MessageStart,
    to: String,
) -> Result<ForwardPage, Error> {
    Ok(ForwardPage {
        shell: page.shell("Forward", "inbox").await?,
        message_url: format!("{}/messages/{}", page.base(), message.head.id),
        subject: message.head.subject,
        from: page.inbox.address(page.service().mail_domain()),
        to,
        problem: None,
    })
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
fn remembering(page: &InboxPage, to: &str, mut response: Response) -> Response {
    let is_plain = to
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~@-".contains(&byte));
    let is_https = page.app.base_url.is_https();
    let secure = if is_https { "; Secure" } else { "" };
    let path = page.path("");
    let cookie = format!(
        "{COOKIE_NAME}={to}; Path={path}; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"
    );
    if is_plain && let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
