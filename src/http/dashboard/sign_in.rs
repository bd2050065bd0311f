//! Signing in with an API key or the administrator's token, and signing out, here or everywhere.

use askama::Template;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Method};

use super::guard::COOKIE_NAME;
use super::page::{Answer, Shell, again, html, see};
use super::visit::{Form, Visit};
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

pub(super) async fn show(visit: Visit, query: Query) -> Answer {
    if visit.session.is_some() {
        return Ok(see("/"));
    }
    Ok(html(&page(&visit, query.first("next"), None))?)
}

pub(super) async fn sign_in(visit: Visit, Client(client): Client, form: Form) -> Answer {
    let next = form.given("next");
    let secret = form.text("secret").trim();
    let error = match visit.service().sign_in(secret, client).await {
        Ok(cookie) => return with_cookie(&visit.app, next.map_or("/", local_path), &cookie, ""),
        Err(SignInError::WrongSecret) => {
            tracing::info!(%client, "a sign-in failed");
            Error::SignInFailed
        }
        Err(SignInError::Store(error)) => error.into(),
    };
    // A page for a visitor without a session, even if the browser has one.
    let visit = Visit {
        session: None,
        ..visit
    };
    let next = next.map(str::to_owned);
    again(error, |problem| page(&visit, next, Some(problem)))
}

fn page(visit: &Visit, next: Option<String>, problem: Option<String>) -> SignInPage {
    let shell = Shell::new(visit, "Sign in", "");
    SignInPage {
        shell,
        next,
        problem,
    }
}

/// Signs in with a link that `serve` or `open` has printed. A browser that is signed in keeps its
/// session, and the link stays valid for another one, as it does after a HEAD.
pub(super) async fn with_link(visit: Visit, method: Method, Client(client): Client) -> Answer {
    if visit.session.is_some() || method == Method::HEAD {
        return Ok(see("/"));
    }
    let token = visit.parameter("token")?;
    let cookie = visit.service().sign_in_with_link(token, client).await?;
    with_cookie(&visit.app, "/", &cookie.ok_or(Error::LinkUsed)?, "")
}

pub(super) async fn sign_out(visit: Visit) -> Answer {
    visit.service().sign_out(visit.session()?).await?;
    with_cookie(&visit.app, "/sign-in", "", "; Max-Age=0")
}

pub(super) async fn sign_out_everywhere(visit: Visit) -> Answer {
    let session = visit.session()?;
    visit.service().sign_out_everywhere(session).await?;
    with_cookie(&visit.app, "/sign-in", "", "; Max-Age=0")
}

/// Sends the browser to a page, with this cookie of the session.
fn with_cookie(app: &App, page: &str, value: &str, more: &str) -> Answer {
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
    let mut response = see(page);
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
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
