//! The APIs of mail providers: no body makes them fail, and what they accept is a message without a foreign header.
//!
//! The first byte of the input chooses the request, the others are its body.
#![no_main]

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use libfuzzer_sys::fuzz_target;
use testkit::Harness;
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// The paths, and the content type of their bodies.
const REQUESTS: [(&str, &str); 9] = [
    ("/send/ses/v2/email/outbound-emails", "application/json"),
    ("/send/ses/v2/email/outbound-bulk-emails", "application/json"),
    ("/send/ses/", "application/x-www-form-urlencoded"),
    ("/send/resend/emails", "application/json"),
    ("/send/resend/emails/batch", "application/json"),
    ("/send/sendgrid/v3/mail/send", "application/json"),
    ("/send/postmark/email", "application/json"),
    ("/send/postmark/email/withTemplate", "application/json"),
    ("/send/mailgun/v3/shop.example/messages", "multipart/form-data; boundary=b"),
];

static BED: LazyLock<(Runtime, Harness)> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let harness = runtime.block_on(Harness::start());
    (runtime, harness)
});

fuzz_target!(|input: &[u8]| {
    let Some((first, body)) = input.split_first() else { return };
    let (path, content_type) = REQUESTS[usize::from(*first) % REQUESTS.len()];
    let (runtime, harness) = &*BED;
    let request = Request::post(path).header("host", "localhost").header("content-type", content_type);
    let request = request.body(Body::from(body.to_vec())).expect("a valid request");
    let response = runtime.block_on(harness.router.clone().oneshot(request)).expect("the router never fails");
    // 503 is the share of memory that a key has.
    assert!(response.status() == 503 || response.status().as_u16() < 500, "{path}: {response:?}");
});
