//! The API under `/v1`: the handler of each path. Each handler is followed by its description for
//! the document.

mod checks;
mod details;
mod events;
mod explain;
mod faults;
mod health;
mod inboxes;
mod messages;
mod outgoing;
mod project;
mod stream;
mod wait;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, post_with, put_with};

use super::app::App;

/// All paths below the version prefix.
pub(super) fn router() -> ApiRouter<Arc<App>> {
    ApiRouter::new()
        .api_route("/health", get_with(health::health, health::describe))
        .api_route("/inboxes", get_with(inboxes::find, inboxes::describe_find))
        .api_route(
            "/inboxes",
            post_with(inboxes::create, inboxes::describe_create),
        )
        .api_route(
            "/inboxes/{id}",
            get_with(inboxes::show, inboxes::describe_show),
        )
        .api_route(
            "/inboxes/{id}",
            put_with(inboxes::ensure, inboxes::describe_ensure),
        )
        .api_route(
            "/inboxes/{id}",
            delete_with(inboxes::remove, inboxes::describe_remove),
        )
        .api_route(
            "/inboxes/{id}/messages",
            get_with(messages::list, messages::describe_list),
        )
        .api_route(
            "/inboxes/{id}/messages",
            post_with(outgoing::send, outgoing::describe_send),
        )
        .api_route(
            "/inboxes/{id}/messages/wait",
            get_with(wait::wait, wait::describe),
        )
        .api_route(
            "/messages/{id}",
            get_with(messages::show, messages::describe_show),
        )
        .api_route(
            "/messages/{id}",
            delete_with(messages::remove, messages::describe_remove),
        )
        .api_route(
            "/messages/{id}/raw",
            get_with(messages::raw, messages::describe_raw),
        )
        .api_route(
            "/messages/{id}/details",
            get_with(details::show, details::describe_show),
        )
        .api_route(
            "/messages/{id}/checks",
            get_with(checks::show, checks::describe),
        )
        .api_route(
            "/messages/{id}/forward",
            post_with(outgoing::forward, outgoing::describe_forward),
        )
        .api_route(
            "/messages/{id}/attachments/{index}",
            get_with(details::download, details::describe_download),
        )
        .api_route(
            "/messages/{id}/page",
            get_with(messages::page, messages::describe_page),
        )
        .api_route(
            "/outgoing/{id}",
            get_with(outgoing::show, outgoing::describe_show),
        )
        .api_route(
            "/project/inboxes",
            get_with(project::inboxes, project::describe_inboxes),
        )
        .api_route(
            "/project/messages",
            get_with(project::messages, project::describe_messages),
        )
        .api_route(
            "/project/changes",
            get_with(project::changes, project::describe_changes),
        )
        .api_route(
            "/inboxes/{id}/explain",
            get_with(explain::explain, explain::describe),
        )
        .api_route(
            "/inboxes/{id}/events",
            get_with(events::list, events::describe),
        )
        .api_route(
            "/inboxes/{id}/faults",
            get_with(faults::show, faults::describe_show),
        )
        .api_route(
            "/inboxes/{id}/faults",
            put_with(faults::replace, faults::describe_replace),
        )
        .api_route(
            "/inboxes/{id}/faults",
            delete_with(faults::clear, faults::describe_clear),
        )
}

/// `/health`, which also exists without the prefix.
pub(super) fn health_alias() -> ApiRouter<Arc<App>> {
    ApiRouter::new().api_route("/health", get_with(health::health, health::describe_alias))
}
