//! The search syntax of Mailpit: no search makes the server fail, and none finds the mail of
//! another project.
#![no_main]

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use testkit::Harness;
use tokio::runtime::Runtime;

/// What every search may find.
const OWN: [&str; 2] = ["Sign in", "Grüße"];

static BED: LazyLock<(Runtime, Harness)> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let harness = runtime.block_on(async {
        let harness = Harness::start().await;
        for subject in OWN {
            harness.deliver("ada", subject).await;
        }
        let foreign = harness.create_inbox_with(&harness.other_key).await;
        harness.deliver(&foreign, "foreign").await;
        assert_eq!(
            subjects(&search(&harness, "to:ada@restante.example.com in").await),
            ["Sign in"]
        );
        harness
    });
    (runtime, harness)
});

fuzz_target!(|text: &str| {
    let (runtime, harness) = &*BED;
    runtime.block_on(async {
        let found = search(harness, text).await;
        let others = search(harness, &format!("!{text}")).await;
        for answer in [&found, &others] {
            assert!(
                subjects(answer).iter().all(|subject| OWN.contains(subject)),
                "{text:?}: {answer}"
            );
        }
        let is_one_word = text.chars().all(char::is_alphanumeric) && !text.is_empty();
        if is_one_word {
            // Every message matches a word or does not.
            assert_eq!(
                subjects(&found).len() + subjects(&others).len(),
                OWN.len(),
                "{text:?}: {found} {others}"
            );
        }
    });
});

async fn search(harness: &Harness, text: &str) -> Value {
    let query = text.bytes().fold(String::new(), |mut query, byte| {
        write!(query, "%{byte:02x}").expect("a string takes any text");
        query
    });
    let request =
        Request::get(format!("/mailpit/api/v1/search?query={query}")).header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {}", harness.key.as_str()));
    let answer = harness
        .send(request.body(Body::empty()).expect("a valid request"))
        .await;
    assert!(
        matches!(answer.status, 200 | 400 | 414),
        "{text:?}: {answer:?}"
    );
    serde_json::from_str(&answer.body).unwrap_or(Value::Null)
}

fn subjects(answer: &Value) -> Vec<&str> {
    let messages = answer["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    messages
        .iter()
        .filter_map(|message| message["Subject"].as_str())
        .collect()
}
