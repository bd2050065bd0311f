//! The dashboard: pages rendered on the server, usable without JavaScript, with live updates.
//!
//! The router is built from the table [`routes`]. Every route has an [`Access`], and [`guard`]
//! checks it before a handler runs: the host, the session, the project, and for a change the origin
//! and the form's token. A handler receives the results from the extractors of [`visit`].
//!
//! Messages may be hostile. Only [`mail`] serves their HTML, for a frame without scripts, origin or
//! network; all other pages show it as text.

mod access;
mod all_mail;
mod assets;
mod compose;
mod deletions;
mod error_page;
mod explained;
mod failure;
mod failures;
mod faults;
mod find;
mod forward;
mod guard;
mod home;
mod html_check;
mod inboxes;
mod letter;
mod link;
mod live;
mod mail;
mod messages;
mod notices;
mod outgoing;
mod page;
mod parts;
mod plain;
mod projects;
mod reader;
mod refused;
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
    pub path: &'static str,
    /// Who may see it.
    pub access: Access,
    handler: MethodRouter<Arc<App>>,
}

/// Every route of the dashboard.
#[must_use]
pub fn routes() -> Vec<Route> {
    use Access::{Administrator, Project, Public, SignedIn};
    vec![
        get("/", Public, home::home),
        get("/static/{file}", Public, assets::serve),
        get("/sign-in", Public, sign_in::show),
        post("/sign-in", Public, sign_in::sign_in),
        post("/sign-out", SignedIn, sign_in::sign_out),
        post(
            "/sign-out-everywhere",
            SignedIn,
            sign_in::sign_out_everywhere,
        ),
        get("/projects", Administrator, projects::list),
        post("/projects", Administrator, projects::create),
        get("/find", Administrator, find::everywhere),
        get("/inboxes", SignedIn, home::list),
        get("/inboxes/{inbox}", SignedIn, home::inbox),
        get("/failures", SignedIn, home::list),
        get("/failures/{failure}", SignedIn, story::show),
        get("/refused", Administrator, refused::all),
        get("/refused/events", Administrator, live::all_refused),
        get(
            "/projects/{project}/settings",
            Administrator,
            projects::settings,
        ),
        post(
            "/projects/{project}/rename",
            Administrator,
            projects::rename,
        ),
        post(
            "/projects/{project}/rotate",
            Administrator,
            projects::rotate,
        ),
        post(
            "/projects/{project}/delete",
            Administrator,
            projects::delete,
        ),
        get("/projects/{project}/inboxes", Project, inboxes::list),
        post("/projects/{project}/inboxes", Project, inboxes::create),
        get("/projects/{project}/inboxes/events", Project, live::inboxes),
        get(
            "/projects/{project}/inboxes/{inbox}",
            Project,
            messages::list,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/delete",
            Project,
            deletions::inbox,
        ),
        post(
            "/projects/{project}/delete-inboxes",
            Project,
            deletions::inboxes,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/empty",
            Project,
            deletions::messages,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/messages/{message}/delete",
            Project,
            deletions::message,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/retention",
            Project,
            inboxes::retain,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/waits",
            Project,
            messages::waits,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/timeline",
            Project,
            timeline::show,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/events",
            Project,
            live::inbox,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/start",
            Project,
            start::show_for_inbox,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/send",
            Project,
            compose::show,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/send",
            Project,
            compose::send,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/messages/{message}",
            Project,
            messages::show,
        ),
        get(
            "/projects/{project}/inboxes/{inbox}/messages/{message}/forward",
            Project,
            forward::show,
        ),
        post(
            "/projects/{project}/inboxes/{inbox}/messages/{message}/forward",
            Project,
            forward::send,
        ),
        get(
            "/projects/{project}/messages/{message}/html",
            Project,
            mail::html,
        ),
        get(
            "/projects/{project}/messages/{message}/eml",
            Project,
            parts::eml,
        ),
        get(
            "/projects/{project}/messages/{message}/parts/{part}",
            Project,
            parts::download,
        ),
        get(
            "/projects/{project}/messages/{message}/images/{part}",
            Project,
            parts::image,
        ),
        get("/projects/{project}/mail", Project, all_mail::list),
        get("/projects/{project}/outgoing", Project, outgoing::list),
        get(
            "/projects/{project}/outgoing/events",
            Project,
            live::outgoing,
        ),
        post(
            "/projects/{project}/outgoing/{item}/retry",
            Project,
            outgoing::retry,
        ),
        post(
            "/projects/{project}/outgoing/{item}/cancel",
            Project,
            outgoing::cancel,
        ),
        get("/projects/{project}/refused", Project, refused::of_project),
        get("/projects/{project}/refused/events", Project, live::refused),
        get("/projects/{project}/failures", Project, failures::list),
        get(
            "/projects/{project}/failures/events",
            Project,
            live::failures,
        ),
        get("/projects/{project}/link", Project, link::show),
        get("/projects/{project}/find", Project, find::in_project),
        get("/projects/{project}/start", Project, start::show),
    ]
}

/// The router of all [`routes`], each with its guard.
pub(super) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    routes().into_iter().fold(Router::new(), |router, route| {
        let guarded = route.handler.layer(from_fn_with_state(
            (Arc::clone(app), route.access),
            guard::guard,
        ));
        router.route(route.path, guarded)
    })
}

fn get<H: Handler<T, Arc<App>>, T: 'static>(
    path: &'static str,
    access: Access,
    handler: H,
) -> Route {
    Route {
        method: "GET",
        path,
        access,
        handler: on(MethodFilter::GET, handler),
    }
}

fn post<H: Handler<T, Arc<App>>, T: 'static>(
    path: &'static str,
    access: Access,
    handler: H,
) -> Route {
    Route {
        method: "POST",
        path,
        access,
        handler: on(MethodFilter::POST, handler),
    }
}
