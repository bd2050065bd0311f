//! Which requests go to the APIs for sending, and how long they may take: what the layers above all
//! routes need to know about them.

use std::time::Duration;

use axum::http::Method;

use super::body;

/// The path of all providers.
pub(super) const PATH: &str = "/send";
/// The paths of Postmark, also at the root: some clients can be given only a host.
pub(super) const POSTMARK: [&str; 6] = [
    "/email",
    "/email/batch",
    "/email/withTemplate",
    "/email/batchWithTemplates",
    "/email/withTemplate/",
    "/email/batchWithTemplates/",
];
/// The path of SES for a client that knows only the host.
pub(super) const SES: &str = "/";
/// The path of Mailpit's API.
const MAILPIT: &str = "/mailpit/api/v1/send";

/// How long a request may take: its body, its delivery, and the longest delay that a fault asks
/// for.
pub(super) const MAX_TIME: Duration = body::ARRIVAL.saturating_add(Duration::from_secs(120 + 300));

/// Whether this is a request to an API for sending.
pub(super) fn is_request(method: &Method, path: &str) -> bool {
    let is_path = path
        .strip_prefix(PATH)
        .is_some_and(|rest| rest.starts_with('/'))
        || POSTMARK.contains(&path)
        || path == MAILPIT;
    // The root is a page, too.
    is_path || path == SES && method == Method::POST
}
