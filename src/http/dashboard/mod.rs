//! The dashboard: pages rendered on the server, usable without JavaScript, with live updates.
//!
//! The router is built from the table [`routes`]. Every route has an [`Access`], and [`guard`]
//! checks it before a handler runs: the host, the session, the project, and for a change the origin
//! and the form's token. A handler receives the results from the extractors of [`visit`].
//!
//! Messages may be hostile. Only [`mail`] serves their HTML, for a frame without scripts, origin or
//! network; all other pages show it as text.

mod access;
mod assets;
mod compose;
mod deletions;
mod error_page;
mod explained;
mod failure;
mod failures;
mod faults;
mod forward;
mod guard;
mod home;
mod html_check;
mod inboxes;
mod letter;
mod link;
mod live;
mod mail;
mod mail_list;
mod mail_page;
mod named;
mod notices;
mod outgoing;
mod page;
mod parts;
mod plain;
mod projects;
mod reader;
mod refused;
mod samples;
mod search;
mod search_query;
mod sign_in;
mod start;
mod story;
mod timeline;
mod visit;
mod waits;
mod when;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};

use super::App;

pub use access::Access;
pub(super) use guard::{COOKIE_NAME, cookie, unknown};

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

/// Every route of the dashboard. The paths of a project's pages are within the project.
#[must_use]
pub fn routes() -> Vec<Route> {
    use Access::{Administrator, Project, Public, SignedIn};
    vec![
        get(Public, "/", home::home),
        get(Public, "/static/{file}", assets::serve),
        get(Public, "/sign-in", sign_in::show),
        post(Public, "/sign-in", sign_in::sign_in),
        get(Public, "/sign-in/{token}", sign_in::with_link),
        post(SignedIn, "/sign-out", sign_in::sign_out),
        post(
            SignedIn,
            "/sign-out-everywhere",
            sign_in::sign_out_everywhere,
        ),
        get(SignedIn, "/inboxes", home::list),
        get(SignedIn, "/inboxes/{inbox}", home::inbox),
        get(SignedIn, "/failures", home::list),
        get(SignedIn, "/failures/{failure}", mail_page::failure),
        get(Administrator, "/projects", projects::list),
        post(Administrator, "/projects", projects::create),
        get(Administrator, "/refused", refused::all),
        get(Administrator, "/refused/events", live::all_refused),
        get(
            Administrator,
            "/projects/{project}/settings",
            projects::settings,
        ),
        post(
            Administrator,
            "/projects/{project}/rename",
            projects::rename,
        ),
        post(
            Administrator,
            "/projects/{project}/rotate",
            projects::rotate,
        ),
        post(
            Administrator,
            "/projects/{project}/delete",
            projects::delete,
        ),
        get(Project, "/mail", mail_page::all),
        get(Project, "/events", live::project),
        post(Project, "/samples", samples::create),
        get(Project, "/inboxes", inboxes::list),
        post(Project, "/inboxes", inboxes::create),
        post(Project, "/delete-inboxes", deletions::inboxes),
        get(Project, "/inboxes/{inbox}", mail_page::inbox),
        get(Project, "/inboxes/{inbox}/waits", mail_page::inbox),
        get(Project, "/inboxes/{inbox}/timeline", mail_page::inbox),
        get(Project, "/inboxes/{inbox}/events", live::inbox),
        get(Project, "/inboxes/{inbox}/start", start::show_for_inbox),
        get(Project, "/inboxes/{inbox}/send", compose::show),
        post(Project, "/inboxes/{inbox}/send", compose::send),
        post(Project, "/inboxes/{inbox}/retention", inboxes::retain),
        post(Project, "/inboxes/{inbox}/empty", deletions::messages),
        post(Project, "/inboxes/{inbox}/delete", deletions::inbox),
        get(
            Project,
            "/inboxes/{inbox}/messages/{message}",
            mail_page::inbox,
        ),
        get(
            Project,
            "/inboxes/{inbox}/messages/{message}/forward",
            forward::show,
        ),
        post(
            Project,
            "/inboxes/{inbox}/messages/{message}/forward",
            forward::send,
        ),
        post(
            Project,
            "/inboxes/{inbox}/messages/{message}/delete",
            deletions::message,
        ),
        get(Project, "/messages/{message}/html", mail::html),
        get(Project, "/messages/{message}/eml", parts::eml),
        get(Project, "/messages/{message}/parts/{part}", parts::download),
        get(Project, "/messages/{message}/images/{part}", parts::image),
        get(Project, "/outgoing", outgoing::list),
        post(Project, "/outgoing/{item}/retry", outgoing::retry),
        post(Project, "/outgoing/{item}/cancel", outgoing::cancel),
        get(Project, "/refused", refused::of_project),
        get(Project, "/failures", failures::list),
        get(Project, "/link", link::show),
        get(Project, "/start", start::show),
    ]
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

fn get<H: Handler<T, Arc<App>>, T: 'static>(access: Access, path: &str, handler: H) -> Route {
    Route::new("GET", access, path, on(MethodFilter::GET, handler))
}

fn post<H: Handler<T, Arc<App>>, T: 'static>(access: Access, path: &str, handler: H) -> Route {
    Route::new("POST", access, path, on(MethodFilter::POST, handler))
}

impl Route {
    fn new(
        method: &'static str,
        access: Access,
        path: &str,
        handler: MethodRouter<Arc<App>>,
    ) -> Self {
        let within = match access {
            Access::Project => "/projects/{project}",
            _ => "",
        };
        Self {
            method,
            path: format!("{within}{path}"),
            access,
            handler,
        }
    }
}
