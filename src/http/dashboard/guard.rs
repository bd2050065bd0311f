//! The checks before any dashboard handler runs, in this order: the host, the site and the origin,
//! the session, the project, and for a change the token in its form. An error, here or in the
//! handler, is rendered as a page.

use std::sync::Arc;

use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::header::{ACCEPT, COOKIE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{RequestExt, body::Body};

use super::Access;
use super::error_page::{self, PageError};
use super::page::with_query;
use super::visit::{Form, Visit};
use crate::http::App;
use crate::http::body::read;
use crate::http::client::Client;
use crate::http::error::Error;
use crate::http::host::{is_own_origin, own_host};
use crate::model::{Project, ProjectId};
use crate::service::Session;

/// The name of the session's cookie.
pub(in crate::http) const COOKIE_NAME: &str = "restante_session";

/// A request with this header is answered with the content of the page only, without the navigation
/// and an open message: the script replaces the regions that have changed.
const PART: &str = "x-part";

/// The largest form of a client that is not signed in.
const PUBLIC_FORM_BYTES: usize = 16 * 1024;
/// The largest form of every page but the one that sends a message.
const FORM_BYTES: usize = 64 * 1024;
/// Maximum number of fields of a form; the forms of the dashboard have fewer.
const MAX_PAIRS: usize = 10;
/// Maximum number of fields of a form in which inboxes of a list are selected.
const MAX_CHOSEN: usize = 120;

/// Passes a request to its handler, or answers with an error page.
pub(super) async fn guard(
    State((app, access)): State<(Arc<App>, Access)>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut visit = Visit::new(app, &request);
    let failure = match admit(access, &mut request, &mut visit).await {
        Ok(()) => {
            request.extensions_mut().insert(visit.clone());
            let mut response = next.run(request).await;
            let Some(failure) = response.extensions_mut().remove::<PageError>() else {
                return response;
            };
            failure
        }
        // For a page, the visitor signs in first and then continues there.
        Err(Error::Unauthorized)
            if request.method() == Method::GET
                && !accepts(request.headers(), "text/event-stream") =>
        {
            let target = request.uri().path_and_query().map(PathAndQuery::as_str);
            return Redirect::to(&with_query("/sign-in", &[("next", target)])).into_response();
        }
        Err(error) => error.into(),
    };
    error_page::render(visit, failure).await
}

/// The answer for a path that does not exist: a page for a browser, JSON for all others and for
/// everything in the API's namespace, because some HTTP libraries accept `text/html` without being
/// a browser.
pub(in crate::http) async fn unknown(
    State(app): State<Arc<App>>,
    mut request: Request,
) -> Response {
    let path = request.uri().path();
    let is_api = ["/v1", "/api"].iter().any(|prefix| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if is_api || request.method() != Method::GET || !accepts(request.headers(), "text/html") {
        return Error::NotFound.into_response();
    }
    let mut visit = Visit::new(app, &request);
    let admitted = admit(Access::Public, &mut request, &mut visit).await;
    let error = admitted.err().unwrap_or(Error::NotFound);
    error_page::render(visit, error.into()).await
}

impl Visit {
    fn new(app: Arc<App>, request: &Request) -> Self {
        Self {
            now: app.service.clock().now(),
            app,
            session: None,
            project: None,
            parameters: Vec::new(),
            headers: request.headers().clone(),
            is_part: request.headers().contains_key(PART),
        }
    }
}

/// Checks a request and fills `visit`, even if the request is rejected.
async fn admit(access: Access, request: &mut Request, visit: &mut Visit) -> Result<(), Error> {
    let app = Arc::clone(&visit.app);
    let is_change = request.method() == Method::POST;
    let host = own_host(request.method(), request.headers(), app.base_url.as_str())?;
    if is_change && !is_own_origin(request.headers(), &host) {
        return Err(Error::ForeignOrigin);
    }
    if let Some(cookie) = cookie(&visit.headers, COOKIE_NAME) {
        let Ok(Client(client)) = request.extract_parts_with_state(&app).await;
        visit.session = app.service.session(cookie, client).await?;
    }
    if let Ok(parameters) = request.extract_parts::<RawPathParams>().await {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        visit.parameters = parameters.iter().map(owned).collect();
    }
    if access != Access::Public {
        visit.project = admit_to(visit, access).await?;
    }
    if is_change {
        let form = read_form(visit, access, request).await?;
        let is_fresh = |session: &Session| form.text("csrf") == session.csrf_token;
        if access != Access::Public && !visit.session.as_ref().is_some_and(is_fresh) {
            return Err(Error::StaleForm);
        }
        request.extensions_mut().insert(form);
    }
    Ok(())
}

/// The project of the path, if the viewer may see the page; otherwise "not found", as for a project
/// that does not exist.
async fn admit_to(visit: &Visit, access: Access) -> Result<Option<Project>, Error> {
    let session = visit.session()?;
    if access == Access::Administrator && !session.is_administrator() {
        return Err(Error::NotFound);
    }
    let Ok(id) = visit.parameter("project") else {
        return Ok(None);
    };
    let id = ProjectId::parse(id).map_err(|_| Error::NotFound)?;
    if !session.may_see(id) {
        return Err(Error::NotFound);
    }
    let project = visit.service().projects().find(id).await?;
    project.map(Some).ok_or(Error::NotFound)
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains(media_type))
}

/// The value of a cookie.
pub(in crate::http) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

async fn read_form(visit: &Visit, access: Access, request: &mut Request) -> Result<Form, Error> {
    let route = request.extensions().get::<MatchedPath>();
    let is = |name| route.is_some_and(|route| route.as_str().ends_with(name));
    let limit = match access {
        Access::Public => PUBLIC_FORM_BYTES,
        _ if is("/send") => visit.app.limits.send_body,
        _ => FORM_BYTES,
    };
    let most = match is("/delete-inboxes") {
        true => MAX_CHOSEN,
        false => MAX_PAIRS,
    };
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let holder = visit.session.as_ref().map(Session::holder);
    let mut job = visit.service().jobs().job(holder.unwrap_or_default());
    let body = read(body, limit, &mut job).await?;
    let reading = job.run(move || pairs(&body, most));
    let (form, job) = reading.await.map_err(Error::internal)?;
    match form.len() > most {
        true => Err(Error::BodyTooLarge),
        false => Ok(Form::new(form, job)),
    }
}

/// The pairs of a form: at most one more than allowed, which shows that there are too many.
fn pairs(encoded: &[u8], most: usize) -> Vec<(String, String)> {
    let pairs = form_urlencoded::parse(encoded).take(most + 1);
    pairs
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        [(name.parse().unwrap(), value.parse().unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        assert_eq!(
            cookie(
                &headers("cookie", "a=1; restante_session=x; b=2"),
                COOKIE_NAME
            ),
            Some("x")
        );
        assert_eq!(
            cookie(&headers("cookie", "not_restante_session=x"), COOKIE_NAME),
            None
        );
    }
}
