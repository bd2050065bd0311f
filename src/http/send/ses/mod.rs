//! Amazon SES: version 2 of the API with JSON, and version 1 with forms and XML.

mod template;
mod v1;
mod v2;

use std::sync::Arc;

use axum::Router;

use super::Senders;
use crate::http::sending;

/// Version 1 at its path with a slash at the end, as most clients write it.
pub(super) fn query_router() -> Router<Arc<Senders>> {
    v1::router("/ses/")
}

/// Version 1 at the root, because the SDK for Java ignores the path of its endpoint.
pub(super) fn root_router() -> Router<Arc<Senders>> {
    v1::router(sending::SES)
}

pub(super) fn router() -> Router<Arc<Senders>> {
    v2::router().merge(v1::router("/"))
}
