//! `/v1/project/…`: all inboxes and messages of a project, and the stream of changes.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use serde_json::Value;
use tower::ServiceExt;

use testkit::{Answer, Engine, Harness, app, request, within};

fn ids(answer: &Answer, list: &str, field: &str) -> Vec<String> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let json = answer.json();
    json[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item[field].as_str().unwrap().to_owned())
        .collect()
}

#[testkit::each_engine]
async fn the_inboxes_of_a_project_are_listed_in_pages(engine: Engine) {
    let api = Harness::on(engine).await;
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(api.create_inbox().await);
        api.clock.advance(Duration::from_secs(1));
    }
    api.create_inbox_with(&api.other_key).await;
    api.deliver(&created[0], "Hello").await;
    let expected: Vec<String> = [0, 4, 3, 2, 1].map(|index| created[index].clone()).to_vec();
    let all = api.get("/v1/project/inboxes").await;
    assert_eq!(
        (ids(&all, "inboxes", "id"), &all.json()["next"]),
        (expected.clone(), &Value::Null)
    );
    let first = &all.json()["inboxes"][0];
    assert_eq!(
        (
            first["messages"].as_i64(),
            first["last_received_at"].is_string()
        ),
        (Some(1), true),
        "{first}"
    );

    let mut listed = Vec::new();
    let mut after = String::new();
    loop {
        let page = api
            .get(&format!("/v1/project/inboxes?limit=2&after={after}"))
            .await;
        listed.extend(ids(&page, "inboxes", "id"));
        match page.json()["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => break,
        }
    }
    assert_eq!(listed, expected);
    let id = &created[3];
    for search in [
        id.to_uppercase(),
        format!("%20{id}@restante.example.com"),
        format!("{id}%40Restante.Example.COM"),
    ] {
        let found = api
            .get(&format!("/v1/project/inboxes?search={search}"))
            .await;
        assert_eq!(
            ids(&found, "inboxes", "id"),
            std::slice::from_ref(id),
            "{search}"
        );
    }
    // A text with an @ is the beginning of an address.
    let part = api
        .get(&format!(
            "/v1/project/inboxes?search={}@restante.example.com",
            &id[1..]
        ))
        .await;
    assert_eq!(ids(&part, "inboxes", "id"), [""; 0]);
    for query in ["after=x", "after=1.", "limit=0", "limit=1001"] {
        assert_eq!(
            api.get(&format!("/v1/project/inboxes?{query}"))
                .await
                .status,
            400,
            "{query}"
        );
    }
}

#[testkit::each_engine]
async fn the_messages_of_a_project_are_searched(engine: Engine) {
    let api = Harness::on(engine).await;
    let one = api.create_inbox().await;
    let other = api.create_inbox().await;
    let foreign = api.create_inbox_with(&api.other_key).await;
    let welcome = api.deliver(&one, "Welcome").await;
    let coded = api
        .deliver_raw(&other, "Subject: Sign in\r\n\r\nYour code is 482913.")
        .await;
    api.deliver(&foreign, "Welcome").await;
    let all = api.get("/v1/project/messages").await;
    assert_eq!(
        ids(&all, "messages", "id"),
        [coded.clone(), welcome.clone()]
    );
    let newest = &all.json()["messages"][0];
    assert_eq!(
        (newest["code"].as_str(), newest["inbox_id"].as_str()),
        (Some("482913"), Some(other.as_str()))
    );
    let address = format!("{one}@Restante.example.com");
    for (search, expected) in [
        ("WELCOME", vec![&welcome]),
        ("482913", vec![&coded]),
        (&address, vec![&welcome]),
        ("absent", vec![]),
    ] {
        let found = api
            .get(&format!("/v1/project/messages?search={search}"))
            .await;
        assert_eq!(
            ids(&found, "messages", "id"),
            expected.into_iter().cloned().collect::<Vec<_>>(),
            "{search}"
        );
    }
    let first = api.get("/v1/project/messages?limit=1").await;
    let next = first.json()["next"].as_str().unwrap().to_owned();
    let rest = api
        .get(&format!("/v1/project/messages?before={next}"))
        .await;
    assert_eq!(
        (ids(&rest, "messages", "id"), &rest.json()["next"]),
        (vec![welcome], &Value::Null)
    );
    for query in ["before=x", "limit=0", "limit=101"] {
        assert_eq!(
            api.get(&format!("/v1/project/messages?{query}"))
                .await
                .status,
            400,
            "{query}"
        );
    }
}

/// The events of a stream.
async fn changes(api: &Harness) -> BodyDataStream {
    let router = restante::http::router(app(&api.service));
    let answer = router
        .oneshot(request(
            &api.key,
            "GET",
            "/v1/project/changes",
            Body::empty(),
        ))
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    let mut events = answer.into_body().into_data_stream();
    assert_eq!(next(&mut events).await.as_deref(), Some(": open\n\n"));
    events
}

/// The next event that is not a heartbeat; `None` at the end.
async fn next(events: &mut BodyDataStream) -> Option<String> {
    loop {
        let event = within(events.next()).await?.unwrap();
        let event = String::from_utf8(event.to_vec()).unwrap();
        if event != ": heartbeat\n\n" {
            return Some(event);
        }
    }
}

#[testkit::each_engine]
async fn the_stream_announces_mail_and_ends_with_the_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let mut events = changes(&api).await;
    for subject in ["one", "two"] {
        api.deliver(&inbox, subject).await;
        assert_eq!(
            next(&mut events).await.as_deref(),
            Some("data: changed\n\n")
        );
    }
    api.service
        .projects()
        .rotate_key("default", Duration::ZERO)
        .await
        .unwrap();
    // A revoked key ends the stream at its next event.
    api.deliver(&inbox, "three").await;
    assert_eq!(next(&mut events).await, None);
}

#[testkit::each_engine]
async fn a_key_has_a_limited_number_of_streams(engine: Engine) {
    let api = Harness::on(engine).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(changes(&api).await);
    }
    let refused = api.get("/v1/project/changes").await;
    assert_eq!(
        refused.error(),
        (
            429,
            "too many open dashboard pages or streams: close some".to_owned()
        )
    );
    assert_eq!(api.get("/v1/project/messages").await.status, 200);
    open.pop();
    drop(changes(&api).await);
}
