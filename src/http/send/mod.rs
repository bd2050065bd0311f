//! The APIs of mail providers, under `/send`: an application that sends by HTTP needs only another
//! base URL.
//!
//! Each provider has one file: it parses the provider's requests into [`outgoing::Outgoing`]
//! messages, and writes the provider's answers and errors. [`call`] does everything else, once for
//! all of them: it checks the host, the origin and the credential, reads the body within its
//! limits, composes the messages, and gives them to the same [`Door`](crate::service::Door) as mail
//! over SMTP.

mod batch;
mod call;
mod delivery;
mod failure;
mod form;
mod json;
mod mailgun;
pub(super) mod mailpit;
mod outgoing;
mod postmark;
mod resend;
mod sendgrid;
mod ses;

use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::response::JSON;
use super::sending;
use crate::disk::Disk;

/// Every path that a provider's API does not have here.
const OTHER: &str = "/{*path}";

/// What the handlers share in addition to the application.
pub(super) struct Senders {
    app: Arc<App>,
    /// The disk that must have room for a message.
    disk: Arc<Disk>,
}

/// The routes of all providers.
pub(super) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    if !app.send_apis {
        return Router::new();
    }
    let providers = Router::new()
        .nest("/ses", ses::router())
        .merge(ses::query_router())
        .nest("/resend", resend::router())
        .nest("/sendgrid", sendgrid::router())
        .nest("/postmark", postmark::router())
        .nest("/mailgun", mailgun::router());
    // Some clients can be given only a host.
    let at_root = postmark::routes().merge(ses::root_router());
    Router::new()
        .nest(sending::PATH, providers)
        .merge(at_root)
        .with_state(senders(app))
}

/// The state of the handlers.
pub(super) fn senders(app: &Arc<App>) -> Arc<Senders> {
    let disk = Disk::new(
        app.data_dir.clone(),
        app.limits.free_disk,
        app.service.clock().clone(),
    );
    Arc::new(Senders {
        app: Arc::clone(app),
        disk: Arc::new(disk),
    })
}

/// A JSON answer with a status of the provider.
fn json(status: u16, body: &serde_json::Value) -> Response {
    answer(status, JSON, body.to_string())
}

fn answer(status: u16, content_type: &'static str, body: String) -> Response {
    let mut response = ([(CONTENT_TYPE, content_type)], body).into_response();
    // Every provider's statuses are valid.
    *response.status_mut() = status
        .try_into()
        .expect("it is one of the table of a provider");
    response
}
