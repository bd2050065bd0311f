//! Fault injection over the APIs of providers.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::requests::{API, Api, Letter, mailpit};
use super::{ANY, Post, address, messages};
use crate::explain::explain_refused;
use restante::http::server::Disconnect;
use restante::model::Closing;
use testkit::{Answer, Engine, Harness, within};

async fn inbox_with(api: &Harness, faults: Value) -> String {
    let inbox = api.create_inbox().await;
    let set = api
        .call(
            "PUT",
            &format!("/v1/inboxes/{inbox}/faults"),
            json!({"faults": faults}).to_string(),
        )
        .await;
    assert_eq!(set.status, 200, "{set:?}");
    inbox
}

async fn used(api: &Harness, inbox: &str) -> Vec<u64> {
    let faults = api.get(&format!("/v1/inboxes/{inbox}/faults")).await.json();
    faults["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["used"].as_u64().unwrap())
        .collect()
}

/// The error that a client repeats, and the one that it does not.
fn statuses(one: &Api) -> (u16, u16) {
    match one.via {
        "postmark" => (429, 422),
        "resend" => (429, 403),
        _ => (429, 400),
    }
}

#[testkit::each_engine]
async fn a_fault_is_the_provider_s_error_and_is_counted_once(engine: Engine) {
    let api = Harness::on(engine).await;
    for one in &API {
        let faults = json!([
            {"at": "rcpt", "do": "defer"}, {"at": "data", "do": "defer", "reply": "450 4.2.0 Later"},
            {"at": "rcpt", "do": "reject"}, {"at": "data", "do": "reject"}, {"at": "data", "do": "duplicate"},
        ]);
        let inbox = inbox_with(&api, faults).await;
        let post = (one.request)(&Letter::to(&address(&inbox)));
        let (later, never) = statuses(one);
        for (status, text) in [
            (later, "451 4.3.0 Deferred on request"),
            (later, "450 4.2.0 Later"),
            (never, "550 5.1.1 Rejected on request"),
            (never, "550 5.1.1 Rejected on request"),
        ] {
            let refused = post.send(&api).await;
            assert!(
                refused.status == status && refused.body.contains(text),
                "{}: {refused:?}",
                one.name
            );
        }
        assert!(messages(&api, &inbox).await.is_empty());
        assert!(post.send(&api).await.status < 300);
        assert_eq!(
            (messages(&api, &inbox).await.len(), used(&api, &inbox).await),
            (2, vec![1; 5]),
            "{}",
            one.name
        );
        let explained = explain_refused(&api, &inbox, 4).await;
        let reply = explained["refused"][0]["reply"].as_str().unwrap();
        assert!(
            reply.contains(&format!("API {never}: 550 5.1.1")),
            "{reply}"
        );
    }
}

/// Sends; the answer comes after the delay of a fault, and not before.
async fn send_delayed(
    api: &Harness,
    post: &Post,
    headers: &[(&str, &str)],
    seconds: u64,
) -> Answer {
    let mut sending = pin!(post.send_with(api, headers));
    let until = api.clock.instant().after(Duration::from_secs(seconds));
    let delayed = async {
        tokio::select! {
            answer = &mut sending => panic!("not delayed: {answer:?}"),
            () = api.clock.until_sleeping(until) => {}
        }
    };
    within(delayed).await;
    api.clock.advance(Duration::from_secs(seconds - 1));
    assert!(sending.as_mut().now_or_never().is_none());
    api.clock.advance(Duration::from_secs(1));
    within(sending).await
}

#[testkit::each_engine]
async fn a_delay_holds_the_answer_back(engine: Engine) {
    let api = Harness::on(engine).await;
    for (one, at) in API.iter().flat_map(|one| [(one, "rcpt"), (one, "data")]) {
        // Nothing else waits for this time.
        let inbox = inbox_with(&api, json!([{"at": at, "do": "delay", "seconds": 47}])).await;
        let post = (one.request)(&Letter::to(&address(&inbox)));
        let sent = send_delayed(&api, &post, &ANY, 47).await;
        assert!(sent.status < 300, "{} {at}: {sent:?}", one.name);
        assert_eq!(
            (messages(&api, &inbox).await.len(), used(&api, &inbox).await),
            (1, vec![1]),
            "{} {at}",
            one.name
        );
        assert!(
            post.send(&api).await.status < 300,
            "only once: {} {at}",
            one.name
        );
    }
}

#[testkit::each_engine]
async fn a_bounced_message_is_accepted_and_its_report_is_queued(engine: Engine) {
    let api = Harness::on(engine).await;
    for (queued, one) in (1..).zip(&API) {
        let inbox = inbox_with(&api, json!([{"at": "data", "do": "bounce"}])).await;
        let post = (one.request)(&Letter::to(&address(&inbox)));
        assert!(post.send(&api).await.status < 300, "{}", one.name);
        assert_eq!(
            (messages(&api, &inbox).await.len(), used(&api, &inbox).await),
            (0, vec![1]),
            "{}",
            one.name
        );
        assert_eq!(
            api.service.queued_outgoing().await.unwrap(),
            queued,
            "{}",
            one.name
        );
        let explained = explain_refused(&api, &inbox, 1).await;
        assert_eq!(
            explained["refused"][0]["reply"],
            "accepted, and bounced on request"
        );
        assert!(post.send(&api).await.status < 300);
        assert_eq!(messages(&api, &inbox).await.len(), 1, "{}", one.name);
    }
}

#[testkit::each_engine]
async fn a_disconnection_is_not_an_answer(engine: Engine) {
    let api = Harness::on(engine).await;
    for (one, (action, closing)) in API.iter().flat_map(|one| {
        [("disconnect", Closing::Close), ("reset", Closing::Reset)].map(|way| (one, way))
    }) {
        let faults =
            json!([{"at": "rcpt", "do": action}, {"at": "data", "do": action, "store": true}]);
        let inbox = inbox_with(&api, faults).await;
        for stored in [0, 1] {
            let post = (one.request)(&Letter::to(&address(&inbox)));
            let answer = post.send(&api).await;
            let Some(Disconnect(ended)) = answer.extensions.get() else {
                panic!("{}: {answer:?}", one.name)
            };
            assert_eq!(
                (*ended, messages(&api, &inbox).await.len()),
                (closing, stored),
                "{}",
                one.name
            );
        }
        assert_eq!(used(&api, &inbox).await, [1, 1], "{}", one.name);
        explain_refused(&api, &inbox, 1).await;
    }
}

#[testkit::each_engine]
async fn a_dropped_message_is_accepted_and_lost(engine: Engine) {
    let api = Harness::on(engine).await;
    for one in &API {
        let inbox = inbox_with(&api, json!([{"at": "data", "do": "drop"}])).await;
        let post = (one.request)(&Letter::to(&address(&inbox)));
        assert!(post.send(&api).await.status < 300, "{}", one.name);
        assert_eq!(
            (messages(&api, &inbox).await.len(), used(&api, &inbox).await),
            (0, vec![1]),
            "{}",
            one.name
        );
        let explained = explain_refused(&api, &inbox, 1).await;
        assert_eq!(
            explained["refused"][0]["reply"],
            "accepted, and dropped on request"
        );
        assert!(post.send(&api).await.status < 300);
        assert_eq!(messages(&api, &inbox).await.len(), 1, "{}", one.name);
    }
}

#[testkit::each_engine]
async fn the_endpoint_of_mailpit_has_the_same_faults(engine: Engine) {
    let api = Harness::on(engine).await;
    let faults = json!([
        {"at": "rcpt", "do": "defer"}, {"at": "data", "do": "defer"}, {"at": "rcpt", "do": "reject"},
        {"at": "data", "do": "reject"}, {"at": "rcpt", "do": "disconnect"}, {"at": "data", "do": "reset"},
        {"at": "data", "do": "drop"}, {"at": "data", "do": "bounce"}, {"at": "data", "do": "delay", "seconds": 47},
        {"at": "data", "do": "duplicate"},
    ]);
    let inbox = inbox_with(&api, faults).await;
    let post = mailpit(&address(&inbox));
    let key = [("authorization", &*format!("Bearer {}", api.key.as_str()))];
    let later = (503, "451 4.3.0 Deferred on request");
    let never = (400, "550 5.1.1 Rejected on request");
    for (status, error) in [later, later, never, never] {
        let refused = post.send_with(&api, &key).await;
        assert_eq!(
            (refused.status, refused.text("Error")),
            (status, error.to_owned())
        );
    }
    for closing in [Closing::Close, Closing::Reset] {
        let answer = post.send_with(&api, &key).await;
        assert_eq!(
            answer.extensions.get().map(|Disconnect(ended)| *ended),
            Some(closing)
        );
    }
    for _ in ["drop", "bounce"] {
        assert_eq!(post.send_with(&api, &key).await.status, 200);
    }
    assert!(messages(&api, &inbox).await.is_empty());
    assert_eq!(send_delayed(&api, &post, &key, 47).await.status, 200);
    assert_eq!(post.send_with(&api, &key).await.status, 200);
    assert_eq!(
        (messages(&api, &inbox).await.len(), used(&api, &inbox).await),
        (3, vec![1; 10])
    );
    let explained = explain_refused(&api, &inbox, 8).await;
    assert!(
        explained["refused"]
            .to_string()
            .contains("Mailpit API 503: 451 4.3.0"),
        "{explained}"
    );
}
