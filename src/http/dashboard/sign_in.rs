//! Signing in with an API key or the administrator's token, and out again, here or everywhere.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use super::failure::{Failure, sentence};
use super::guard::{COOKIE_NAME, Visit};
use super::page::{Shell, html, see};
use crate::http::App;
use crate::http::error::Error;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    next: String,
    problem: String,
}

pub(super) async fn show(Extension(visit): Extension<Arc<Visit>>) -> Result<Response, Failure> {
    if visit.session_if_any().is_some() {
        return Ok(see("/"));
    }
    let page =
        SignInPage { shell: Shell::bare("Sign in"), next: visit.query("next").to_owned(), problem: String::new() };
    Ok(html(&page)?)
}

pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let lockout = app.service.lockout();
    if let Some(wait) = lockout.wait(visit.peer) {
        return refused(&visit, &Error::TooManyAttempts(wait.as_secs() + 1));
    }
    let Some(cookie) = app.service.sign_in(visit.field("secret").trim()).await? else {
        lockout.failed(visit.peer);
        tracing::info!(peer = %visit.peer, "a sign-in failed");
        return refused(&visit, &Error::SignInFailed);
    };
    lockout.succeeded(visit.peer);
    let mut response = see(local_path(visit.field("next")));
    set_cookie(&app, &mut response, &cookie, "")?;
    Ok(response)
}

pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    app.service.sign_out(visit.session()?).await?;
    signed_out(&app)
}

pub(super) async fn sign_out_everywhere(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    app.service.sign_out_everywhere(visit.session()?).await?;
    signed_out(&app)
}

fn signed_out(app: &App) -> Result<Response, Failure> {
    let mut response = see("/sign-in");
    set_cookie(app, &mut response, "", "; Max-Age=0")?;
    Ok(response)
}

/// The form again, saying what was wrong.
fn refused(visit: &Visit, error: &Error) -> Result<Response, Failure> {
    let (next, problem) = (visit.field("next").to_owned(), sentence(&error.to_string()));
    let mut response = html(&SignInPage { shell: Shell::bare("Sign in"), next, problem })?;
    *response.status_mut() = error.status();
    if let Some((name, value)) = error.header() {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

fn set_cookie(app: &App, response: &mut Response, value: &str, more: &str) -> Result<(), Error> {
    let secure = if app.base_url.starts_with("https:") { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
    let cookie = HeaderValue::try_from(cookie).map_err(Error::internal)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(())
}

/// Where to go after signing in: a path of ours, never another site. Browsers read `//x` and `/\x` as a host.
fn local_path(next: &str) -> &str {
    let plain = next.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'\\');
    if next.starts_with('/') && !next.starts_with("//") && plain { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        assert_eq!(local_path("/projects/1/inboxes?q=a"), "/projects/1/inboxes?q=a");
        for next in ["", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb", "javascript:1"] {
            assert_eq!(local_path(next), "/", "{next}");
        }
    }
}
