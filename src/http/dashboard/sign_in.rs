//! Signing in with an API key or the administrator's token, and signing out, here or everywhere.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Method};
use axum::response::Response;

use super::failure::PageError;
use super::guard::COOKIE_NAME;
use super::page::{Shell, again, html, see};
use super::visit::{Form, Params, SignedIn, Visit};
use crate::http::App;
use crate::http::client::Client;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::service::SignInError;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    /// The page that the visitor wanted.
    next: Option<String>,
    problem: Option<String>,
}

pub(super) async fn show(
    Extension(visit): Extension<Arc<Visit>>,
    query: Query,
) -> Result<Response, PageError> {
    if visit.session.is_some() {
        return Ok(see("/"));
    }
    Ok(html(&SignInPage {
        shell: Shell::bare("Sign in"),
        next: query.first("next"),
        problem: None,
    })?)
}

pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Client(client): Client,
    form: Form,
) -> Result<Response, PageError> {
    let next = form.given("next");
    let error = match app
        .service
        .sign_in(form.text("secret").trim(), client)
        .await
    {
        Ok(cookie) => {
            let mut response = see(next.map_or("/", local_path));
            set_cookie(&app, &mut response, &cookie, "")?;
            return Ok(response);
        }
        Err(SignInError::WrongSecret) => {
            tracing::info!(%client, "a sign-in failed");
            Error::SignInFailed
        }
        Err(SignInError::Store(error)) => error.into(),
    };
    let shell = Shell::bare("Sign in");
    let next = next.map(str::to_owned);
    Ok(again(error, |problem| SignInPage {
        shell,
        next,
        problem: Some(problem),
    })?)
}

/// Signs in with a link that `serve` or `open` has printed. A browser that is signed in keeps its
/// session, and the link stays valid for another one, as it does after a HEAD.
pub(super) async fn with_link(
    State(app): State<Arc<App>>,
    method: Method,
    Extension(visit): Extension<Arc<Visit>>,
    Client(client): Client,
    Params(token): Params<String>,
) -> Result<Response, PageError> {
    let mut response = see("/");
    if visit.session.is_none() && method == Method::GET {
        match app.service.sign_in_with_link(&token, client).await? {
            Some(cookie) => set_cookie(&app, &mut response, &cookie, "")?,
            None => return Err(Error::LinkUsed.into()),
        }
    }
    Ok(response)
}

pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
) -> Result<Response, PageError> {
    app.service.sign_out(&session).await?;
    signed_out(&app)
}

pub(super) async fn sign_out_everywhere(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
) -> Result<Response, PageError> {
    app.service.sign_out_everywhere(&session).await?;
    signed_out(&app)
}

fn signed_out(app: &App) -> Result<Response, PageError> {
    let mut response = see("/sign-in");
    set_cookie(app, &mut response, "", "; Max-Age=0")?;
    Ok(response)
}

fn set_cookie(app: &App, response: &mut Response, value: &str, more: &str) -> Result<(), Error> {
    let secure = if app.base_url.is_https() {
        "; Secure"
    } else {
        ""
    };
    // Lax, so that a link in the log of a test leads to its page. A change from another site is
    // rejected because of its Origin and because it has no token; and with Lax, the browser sends
    // no cookie with a form of another site.
    let cookie = format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{more}");
    let cookie = HeaderValue::try_from(cookie).map_err(Error::internal)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(())
}

/// The page that a form leads to: a path on this site. Browsers interpret `//x` and `/\x` as another
/// host.
pub(super) fn local_path(next: &str) -> &str {
    let plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if next.starts_with('/') && !next.starts_with("//") && plain {
        next
    } else {
        "/"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_in_leads_to_another_site() {
        assert_eq!(
            local_path("/projects/1/inboxes?q=a"),
            "/projects/1/inboxes?q=a"
        );
        for next in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nb",
            "javascript:1",
        ] {
            assert_eq!(local_path(next), "/", "{next}");
        }
    }
}
