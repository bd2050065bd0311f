//! The dashboard: pages rendered on the server, usable without JavaScript, with live updates.
//!
//! The router is built from the table [`routes`]. Every route has an [`Access`], and [`guard`]
//! checks it before a handler runs: the host, the session, the project, and for a change the origin
//! and the form's token. A handler receives the results from the extractors of [`visit`]. Templates
//! show types of the domain; text of strangers passes through [`plain`].
//!
//! Messages may be hostile. Only [`parts`] serves their HTML, for a frame without scripts, origin or
//! network; all other pages show it as text.

mod assets;
mod compose;
mod error_page;
mod failures;
mod forward;
mod guard;
mod home;
mod inboxes;
mod link;
mod list;
mod live;
mod mail_page;
mod outgoing;
mod page;
mod parts;
mod plain;
mod projects;
mod reader;
mod search_query;
mod sign_in;
mod start;
mod story;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{self, MethodRouter};

use super::App;

pub(super) use guard::{COOKIE_NAME, cookie, unknown};

/// Access rights for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Public,
    SignedIn,
    /// Viewers with access to the `{project}` of the path.
    Project,
    /// The administrator; a `{project}` in the path must exist.
    Administrator,
}

/// A route of the dashboard.
pub struct Route {
    /// `GET`, or `POST` for a change.
    pub method: &'static str,
    /// The path with its parameters in braces.
    pub path: String,
    /// Who may see it.
    pub access: Access,
    handler: MethodRouter<Arc<App>>,
}

/// Every route of the dashboard.
#[must_use]
pub fn routes() -> Vec<Route> {
    let public = [
        get("/", home::home),
        get("/static/{file}", assets::serve),
        get("/sign-in", sign_in::show),
        post("/sign-in", sign_in::sign_in),
        get("/sign-in/{token}", sign_in::with_link),
    ];
    let signed_in = [
        post("/sign-out", sign_in::sign_out),
        post("/sign-out-everywhere", sign_in::sign_out_everywhere),
        get("/inboxes", home::list),
        get("/inboxes/{inbox}", home::inbox),
        get("/failures", home::list),
        get("/failures/{failure}", mail_page::failure),
    ];
    let administrator = [
        get("/projects", projects::list),
        post("/projects", projects::create),
        get("/refused", failures::list),
        get("/refused/events", live::all_refused),
        get("/projects/{project}/settings", projects::settings),
        post("/projects/{project}/rename", projects::rename),
        post("/projects/{project}/rotate", projects::rotate),
        post("/projects/{project}/delete", projects::delete),
    ];
    // Within a project.
    let project = [
        get("/mail", mail_page::all),
        get("/events", live::project),
        post("/samples", start::send_samples),
        get("/inboxes", inboxes::list),
        post("/inboxes", inboxes::create),
        post("/delete-inboxes", inboxes::delete_chosen),
        get("/failures", failures::list),
        get("/refused", failures::list),
        get("/outgoing", outgoing::list),
        post("/outgoing/{item}/retry", outgoing::retry),
        post("/outgoing/{item}/cancel", outgoing::cancel),
        get("/link", link::show),
        get("/start", start::show),
        get("/messages/{message}/html", parts::html),
        get("/messages/{message}/eml", parts::eml),
        get("/messages/{message}/parts/{part}", parts::download),
        get("/messages/{message}/images/{part}", parts::image),
    ];
    // Within an inbox of a project.
    let inbox = [
        get("", mail_page::inbox),
        get("/waits", mail_page::inbox),
        get("/timeline", mail_page::inbox),
        get("/events", live::inbox),
        get("/start", start::show_for_inbox),
        get("/send", compose::show),
        post("/send", compose::send),
        post("/retention", inboxes::retain),
        post("/clear-faults", inboxes::clear_faults),
        post("/empty", inboxes::empty),
        post("/delete", inboxes::delete),
        get("/messages/{message}", mail_page::inbox),
        get("/messages/{message}/forward", forward::show),
        post("/messages/{message}/forward", forward::send),
        post("/messages/{message}/delete", inboxes::delete_message),
    ];
    let mut routes = Vec::new();
    let mut add = |access, within: &str, rows: Vec<Row>| {
        routes.extend(rows.into_iter().map(|(method, path, handler)| Route {
            method,
            path: format!("{within}{path}"),
            access,
            handler,
        }));
    };
    add(Access::Public, "", public.into());
    add(Access::SignedIn, "", signed_in.into());
    add(Access::Administrator, "", administrator.into());
    add(Access::Project, "/projects/{project}", project.into());
    let within = "/projects/{project}/inboxes/{inbox}";
    add(Access::Project, within, inbox.into());
    routes
}

/// The router of all [`routes`], each with its guard.
pub(super) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    routes().into_iter().fold(Router::new(), |router, route| {
        let guarded = route.handler.layer(from_fn_with_state(
            (Arc::clone(app), route.access),
            guard::guard,
        ));
        router.route(&route.path, guarded)
    })
}

/// The method, the path, and the handler.
type Row = (&'static str, &'static str, MethodRouter<Arc<App>>);

fn get<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, handler: H) -> Row {
    ("GET", path, routing::get(handler))
}

fn post<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, handler: H) -> Row {
    ("POST", path, routing::post(handler))
}
