//! The API of Mailpit under `/mailpit`, and at the root of a listener of its own, for test helpers
//! that were written for it. A message of it is a message of the project: if several inboxes have
//! it, it is one.
//!
//! [`guard`] runs first: it checks the host, the origin and the credential. [`list`] and
//! [`message`] answer with the JSON of [`json`]; [`search`] parses Mailpit's syntax.
//! `send/mailpit.rs` has the endpoint that sends.

mod events;
mod guard;
mod info;
mod json;
mod list;
mod message;
mod refused;
mod search;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::{PathAndQuery, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};
use tower::util::MapRequest;

use super::app::App;
use super::credential::Admitted;
use super::error::Error;
use super::send;
use crate::config::MailpitApi;

use refused::Refused;

/// The path that replaces Mailpit's base URL.
const PATH: &str = "/mailpit";

pub(super) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    if app.mailpit_api == MailpitApi::Off {
        return Router::new();
    }
    let guarded = Router::new()
        .route(
            "/api/v1/messages",
            get(list::list).put(list::mark).delete(list::delete),
        )
        .route(
            "/api/v1/search",
            get(list::search).delete(list::delete_found),
        )
        .route("/api/v1/message/{id}", get(message::show))
        .route("/api/v1/message/{id}/headers", get(message::headers))
        .route("/api/v1/message/{id}/raw", get(message::raw))
        .route("/api/v1/message/{id}/part/{part}", get(message::part))
        .route(
            "/api/v1/send",
            post(send::mailpit::send).with_state(send::senders(app)),
        )
        .route("/api/v1/info", get(info::info))
        .route("/api/v1/webui", get(info::webui))
        .route("/api/v1/tags", get(info::tags))
        .route("/api/v1/chaos", any(info::chaos))
        .route("/api/events", get(events::events))
        .route("/view/{file}", get(view::show))
        .route("/{*path}", any(|| async { Refused::from(Error::NotFound) }))
        .method_not_allowed_fallback(|| async { Refused::from(Error::MethodNotAllowed) })
        .layer(from_fn_with_state(Arc::clone(app), guard::check));
    let public = Router::new()
        .route("/", get(info::home))
        .route("/livez", get(info::live))
        .route("/readyz", get(info::ready));
    // A route of a nested router has no slash at its end.
    Router::new()
        .nest(PATH, public.merge(guarded))
        .route("/mailpit/", get(info::home))
}

/// Serves nothing else of `router`, and at the root: helpers that resolve `/view/…` against their
/// base URL lose its path.
pub fn at_root(router: Router) -> Router {
    Router::new().fallback_service(MapRequest::new(router, |mut request: Request| {
        *request.uri_mut() = below_path(request.uri());
        request
    }))
}

fn below_path(uri: &Uri) -> Uri {
    let asked = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // It is at most longer than a URI may be; `*` of OPTIONS becomes a path that does not exist.
    let below = format!("{PATH}/{}", asked.trim_start_matches('/'));
    below.parse().unwrap_or_else(|_| Uri::from_static(PATH))
}
