//! Fault injection over the APIs of providers.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::requests::{API, Api, Letter};
use super::{address, messages};
use crate::explain::explain_refused;
use restante::http::server::Disconnect;
use restante::model::Closing;
use testkit::{Engine, Harness};

async fn inbox_with(api: &Harness, faults: Value) -> String {
    let inbox = api.create_inbox().await;
    let set = api.call("PUT", &format!("/v1/inboxes/{inbox}/faults"), json!({"faults": faults}).to_string()).await;
    assert_eq!(set.status, 200, "{set:?}");
    inbox
}

async fn used(api: &Harness, inbox: &str) -> Vec<u64> {
    let faults = api.get(&format!("/v1/inboxes/{inbox}/faults")).await.json();
    faults["faults"].as_array().unwrap().iter().map(|fault| fault["used"].as_u64().unwrap()).collect()
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
            assert!(refused.status == status && refused.body.contains(text), "{}: {refused:?}", one.name);
        }
        assert!(messages(&api, &inbox).await.is_empty());
        assert!(post.send(&api).await.status < 300);
        assert_eq!((messages(&api, &inbox).await.len(), used(&api, &inbox).await), (2, vec![1; 5]), "{}", one.name);
        let explained = explain_refused(&api, &inbox, 4).await;
        let reply = explained["refused"][0]["reply"].as_str().unwrap();
        assert!(reply.contains(&format!("API {never}: 550 5.1.1")), "{reply}");
    }
}

#[tokio::test]
async fn a_delay_holds_the_answer_back_and_a_bounce_is_accepted() {
    let api = Harness::start().await;
    for one in &API {
        let inbox =
            inbox_with(&api, json!([{"at": "data", "do": "delay", "seconds": 60}, {"at": "data", "do": "bounce"}]))
                .await;
        let post = (one.request)(&Letter::to(&address(&inbox)));
        let start = Instant::now();
        let sending = async {
            let sent = post.send(&api).await;
            assert!(sent.status < 300, "{sent:?}");
        };
        let passing = async {
            while messages(&api, &inbox).await.is_empty() {}
            api.clock.until_sleeping(api.clock.instant().after(Duration::from_secs(60))).await;
            api.clock.advance(Duration::from_secs(60));
        };
        tokio::join!(sending, passing);
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(post.send(&api).await.status < 300);
        assert_eq!((messages(&api, &inbox).await.len(), used(&api, &inbox).await), (1, vec![1, 1]), "{}", one.name);
        let explained = explain_refused(&api, &inbox, 1).await;
        assert_eq!(explained["refused"][0]["reply"], "accepted, and bounced on request");
    }
}

#[tokio::test]
async fn a_disconnection_is_not_an_answer() {
    let api = Harness::start().await;
    for (one, (action, closing)) in
        API.iter().flat_map(|one| [("disconnect", Closing::Close), ("reset", Closing::Reset)].map(|way| (one, way)))
    {
        let faults = json!([{"at": "rcpt", "do": action}, {"at": "data", "do": action, "store": true}]);
        let inbox = inbox_with(&api, faults).await;
        for stored in [0, 1] {
            let post = (one.request)(&Letter::to(&address(&inbox)));
            let answer = post.send(&api).await;
            let Some(Disconnect(ended)) = answer.extensions.get() else { panic!("{}: {answer:?}", one.name) };
            assert_eq!((*ended, messages(&api, &inbox).await.len()), (closing, stored), "{}", one.name);
        }
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
        assert_eq!((messages(&api, &inbox).await.len(), used(&api, &inbox).await), (0, vec![1]), "{}", one.name);
        let explained = explain_refused(&api, &inbox, 1).await;
        assert_eq!(explained["refused"][0]["reply"], "accepted, and dropped on request");
        assert!(post.send(&api).await.status < 300);
        assert_eq!(messages(&api, &inbox).await.len(), 1, "{}", one.name);
    }
}
