//! The APIs of mail providers: no body makes them fail, and no text becomes a header of its own.
//!
//! The first byte of the input chooses the request. If the second is even, the rest is the body;
//! else the rest is the text of every field of a valid body, and what is accepted has the header
//! fields of that body only.
#![no_main]

mod senders;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use libfuzzer_sys::fuzz_target;
use senders::{FORM, SENDERS, Sender, with_text};
use testkit::{Answer, Harness};
use tokio::runtime::Runtime;

/// The inbox of every valid body.
const INBOX: &str = "/v1/inboxes/fuzz";
/// What a message may have in addition because of what its text consists of.
const ENCODINGS: [&str; 3] = ["content-transfer-encoding", "content-type", "mime-version"];

struct Bed {
    runtime: Runtime,
    harness: Harness,
    /// The header fields of the message of each valid body.
    fields: Vec<BTreeSet<String>>,
}

static BED: LazyLock<Bed> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let (harness, fields) = runtime.block_on(async {
        let harness = Harness::start().await;
        let mut fields = Vec::new();
        for sender in &SENDERS {
            let answer = send(
                &harness,
                sender,
                FORM,
                with_text(sender, "text").into_bytes(),
            )
            .await;
            assert!(matches!(answer.status, 200 | 202), "{sender:?}: {answer:?}");
            let mut stored = stored_fields(&harness).await.expect("it was stored");
            stored.extend(ENCODINGS.map(str::to_owned));
            fields.push(stored);
        }
        (harness, fields)
    });
    Bed {
        runtime,
        harness,
        fields,
    }
});

fuzz_target!(|input: &[u8]| {
    let [first, second, rest @ ..] = input else {
        return;
    };
    let Bed {
        runtime,
        harness,
        fields,
    } = &*BED;
    let index = usize::from(*first) % SENDERS.len();
    let sender = &SENDERS[index];
    runtime.block_on(async {
        if second % 2 == 0 {
            let form = if second % 4 == 0 {
                FORM
            } else {
                "multipart/form-data; boundary=b"
            };
            send(harness, sender, form, rest.to_vec()).await;
            return forget(harness).await;
        }
        let body = with_text(sender, &String::from_utf8_lossy(rest));
        let answer = send(harness, sender, FORM, body.clone().into_bytes()).await;
        if let Some(stored) = stored_fields(harness).await {
            let foreign: Vec<_> = stored.difference(&fields[index]).collect();
            assert!(
                foreign.is_empty(),
                "{}: {foreign:?} from {body}: {answer:?}",
                sender.path
            );
        }
    });
});

async fn send(harness: &Harness, sender: &Sender, form: &str, body: Vec<u8>) -> Answer {
    let (name, value) = sender.credential(harness.key.as_str());
    let content_type = if sender.is_json() {
        "application/json"
    } else {
        form
    };
    let request = Request::post(sender.path)
        .header("host", "localhost")
        .header("content-type", content_type);
    let answer = harness
        .send(
            request
                .header(name, value)
                .body(Body::from(body))
                .expect("a valid request"),
        )
        .await;
    // 503 is the share of memory that a key has.
    assert!(
        answer.status == 503 || answer.status < 500,
        "{}: {answer:?}",
        sender.path
    );
    assert!(
        !matches!(answer.status, 401 | 403),
        "{}: the credential is accepted: {answer:?}",
        sender.path
    );
    answer
}

/// The names of the header fields of the message that was stored, if there is one. Its inbox is
/// deleted.
async fn stored_fields(harness: &Harness) -> Option<BTreeSet<String>> {
    let list = harness.get(&format!("{INBOX}/messages")).await;
    if list.status == 404 {
        return None;
    }
    let id = list.json()["messages"][0]["id"]
        .as_str()
        .expect("the inbox has a message")
        .to_owned();
    let raw = harness.get(&format!("/v1/messages/{id}/raw")).await.body;
    forget(harness).await;
    let head = raw.split("\r\n\r\n").next().unwrap_or_default();
    assert!(
        !head.replace("\r\n", "").contains(['\r', '\n', '\0']),
        "a header has a control character: {head:?}"
    );
    let names = head
        .split("\r\n")
        .filter(|line| !line.starts_with([' ', '\t']));
    Some(
        names
            .map(|line| {
                line.split(':')
                    .next()
                    .unwrap_or_default()
                    .to_ascii_lowercase()
            })
            .collect(),
    )
}

/// The address stays reserved for its project, so the next message opens it again.
async fn forget(harness: &Harness) {
    harness.call("DELETE", INBOX, "").await;
}
