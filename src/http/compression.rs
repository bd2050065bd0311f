//! Compresses the pages, the script and the style sheet of the dashboard with gzip.
//!
//! The API is not compressed: its lists are streamed message by message, its clients are near, and
//! a wait must be answered immediately. Event streams and downloads are not compressed either.

use axum::Router;
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use axum::middleware::map_request;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

/// The smallest body that is compressed; a smaller one fits into one packet.
const MIN_BYTES: u16 = 1_024;
/// The types that are compressed.
const TYPES: [&str; 3] = ["text/html", "text/css", "text/javascript"];

/// Compresses the responses of a router.
pub(super) fn compressed<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let layer = CompressionLayer::new().compress_when(SizeAbove::new(MIN_BYTES).and(is_text));
    router.layer(layer).layer(map_request(own_requests_only))
}

fn is_text(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    TYPES.iter().any(|kind| content_type.starts_with(kind))
}

/// A page that another site opens is not compressed. Its size would otherwise depend on how much
/// the query, which the site chooses, resembles the token in the page's forms (the BREACH attack).
async fn own_requests_only(mut request: Request) -> Request {
    let site = request
        .headers()
        .get("sec-fetch-site")
        .map(|site| site.as_bytes().to_vec());
    if site.is_some_and(|site| !matches!(site.as_slice(), b"same-origin" | b"none")) {
        request.headers_mut().remove(ACCEPT_ENCODING);
    }
    request
}
