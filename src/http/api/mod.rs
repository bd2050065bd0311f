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

use super::describe::ApiRouter;

/// All paths below the version prefix.
pub(super) fn router() -> ApiRouter {
    ApiRouter::default()
        .get("/health", health::health, health::describe)
        .get("/inboxes", inboxes::find, inboxes::describe_find)
        .post("/inboxes", inboxes::create, inboxes::describe_create)
        .get("/inboxes/{id}", inboxes::show, inboxes::describe_show)
        .put("/inboxes/{id}", inboxes::ensure, inboxes::describe_ensure)
        .delete("/inboxes/{id}", inboxes::remove, inboxes::describe_remove)
        .get(
            "/inboxes/{id}/messages",
            messages::list,
            messages::describe_list,
        )
        .post(
            "/inboxes/{id}/messages",
            outgoing::send,
            outgoing::describe_send,
        )
        .get("/inboxes/{id}/messages/wait", wait::wait, wait::describe)
        .get("/messages/{id}", messages::show, messages::describe_show)
        .delete(
            "/messages/{id}",
            messages::remove,
            messages::describe_remove,
        )
        .get("/messages/{id}/raw", messages::raw, messages::describe_raw)
        .get(
            "/messages/{id}/details",
            details::show,
            details::describe_show,
        )
        .get("/messages/{id}/checks", checks::show, checks::describe)
        .post(
            "/messages/{id}/forward",
            outgoing::forward,
            outgoing::describe_forward,
        )
        .get(
            "/messages/{id}/attachments/{index}",
            details::download,
            details::describe_download,
        )
        .get(
            "/messages/{id}/page",
            messages::page,
            messages::describe_page,
        )
        .get("/outgoing/{id}", outgoing::show, outgoing::describe_show)
        .get(
            "/project/inboxes",
            project::inboxes,
            project::describe_inboxes,
        )
        .get(
            "/project/messages",
            project::messages,
            project::describe_messages,
        )
        .get(
            "/project/changes",
            project::changes,
            project::describe_changes,
        )
        .get("/inboxes/{id}/explain", explain::explain, explain::describe)
        .get("/inboxes/{id}/events", events::list, events::describe)
        .get("/inboxes/{id}/faults", faults::show, faults::describe_show)
        .put(
            "/inboxes/{id}/faults",
            faults::replace,
            faults::describe_replace,
        )
        .delete(
            "/inboxes/{id}/faults",
            faults::clear,
            faults::describe_clear,
        )
}

/// `/health`, which also exists without the prefix.
pub(super) fn health_alias() -> ApiRouter {
    ApiRouter::default().get("/health", health::health, health::describe_alias)
}
