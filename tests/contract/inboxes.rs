//! `/v1/inboxes` and `/v1/inboxes/{id}`: create, find, show, delete, expire.

use std::time::Duration;

use testkit::{Engine, Harness, MAIL_DOMAIN};

const HOUR: Duration = Duration::from_secs(3600);

#[testkit::each_engine]
async fn a_created_inbox_is_temporary_and_lives_for_an_hour(engine: Engine) {
    let api = Harness::on(engine).await;
    for body in ["", "{}", " {\n} "] {
        let created = api.call("POST", "/v1/inboxes", body).await;
        assert_eq!(created.status, 201, "{body:?}");
        let inbox = created.json();
        let mut fields: Vec<_> = inbox
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            ["address", "created_at", "expires_at", "id", "kind"]
        );
        let id = inbox["id"].as_str().unwrap();
        assert_eq!(inbox["address"], format!("{id}@{MAIL_DOMAIN}"));
        assert_eq!(inbox["kind"], "temporary");
        assert_eq!(inbox["created_at"], "2026-11-20T09:30:00.123Z");
        assert_eq!(inbox["expires_at"], "2026-11-20T10:30:00.123Z");
        assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.json(), inbox);
    }
}

#[testkit::each_engine]
async fn every_inbox_has_an_address_of_its_own(engine: Engine) {
    let api = Harness::on(engine).await;
    assert_ne!(api.create_inbox().await, api.create_inbox().await);
}

#[testkit::each_engine]
async fn a_body_that_is_no_empty_object_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    for (body, text) in [
        (
            r#"{"address":"me@restante.example.com"}"#,
            "unknown field: address",
        ),
        (r#"{"id":"me"}"#, "unknown field: id"),
        (r#"{"b":null,"a":1}"#, "unknown field: b"),
        ("{", "invalid JSON"),
        ("[]", "invalid JSON"),
        ("null", "invalid JSON"),
        ("\"\"", "invalid JSON"),
        ("{}{}", "invalid JSON"),
    ] {
        assert_eq!(
            api.call("POST", "/v1/inboxes", body).await.error(),
            (400, text.to_owned()),
            "{body}"
        );
    }
}

#[testkit::each_engine]
async fn an_inbox_is_found_by_its_address_in_any_case(engine: Engine) {
    let api = Harness::on(engine).await;
    let id = api.create_inbox().await;
    for address in [
        format!("{id}@{MAIL_DOMAIN}"),
        format!("{}@{}", id.to_uppercase(), MAIL_DOMAIN.to_uppercase()),
    ] {
        for query in [
            format!("address={address}"),
            format!("address={address}&address=x"),
            format!("x=1&address={address}"),
        ] {
            let found = api.get(&format!("/v1/inboxes?{query}")).await;
            assert_eq!(
                (found.status, found.text("id")),
                (200, id.clone()),
                "{query}"
            );
        }
    }
}

/// A local part with a space, or with two dots, is written in quotes everywhere.
#[testkit::each_engine]
async fn an_inbox_with_a_quoted_local_part_is_found(engine: Engine) {
    let api = Harness::on(engine).await;
    for (id, encoded) in [
        ("\"odd id\"", "%22Odd%20id%22"),
        ("\"ada..q\"", "%22ada..q%22"),
    ] {
        let message = api.deliver(id, "Hi").await;
        let found = api
            .get(&format!("/v1/inboxes?address={encoded}@{MAIL_DOMAIN}"))
            .await;
        assert_eq!((found.status, found.text("id")), (200, id.to_owned()));
        assert_eq!(found.text("address"), format!("{id}@{MAIL_DOMAIN}"));
        let list = api
            .get(&format!("/v1/inboxes/{encoded}/messages"))
            .await
            .json();
        assert_eq!(list["messages"][0]["id"], message);
        assert_eq!(
            list["messages"][0]["to"],
            format!("{id}@{MAIL_DOMAIN}"),
            "{id}"
        );
        let waited = api
            .get(&format!("/v1/inboxes/{encoded}/messages/wait?timeout=1000"))
            .await;
        assert_eq!(waited.text("id"), message);
    }
}

#[testkit::each_engine]
async fn finding_needs_an_address(engine: Engine) {
    let api = Harness::on(engine).await;
    let id = api.create_inbox().await;
    for query in [
        "",
        "?address=",
        "?address",
        "?Address=a",
        &format!("?address=&address={id}@{MAIL_DOMAIN}"),
    ] {
        let refused = api.get(&format!("/v1/inboxes{query}")).await;
        assert_eq!(
            refused.error(),
            (400, "address is required".to_owned()),
            "{query}"
        );
    }
}

#[testkit::each_engine]
async fn an_address_without_an_inbox_of_this_key_is_not_found(engine: Engine) {
    let api = Harness::on(engine).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let mine = api.create_inbox().await;
    let addresses = [
        format!("{theirs}@{MAIL_DOMAIN}"),
        format!("nobody@{MAIL_DOMAIN}"),
        format!("{mine}@example.com"),
        mine,
        "%ff%00".to_owned(),
        "%".to_owned(),
    ];
    for address in addresses {
        let missing = api.get(&format!("/v1/inboxes?address={address}")).await;
        assert_eq!(
            missing.error(),
            (404, "inbox not found".to_owned()),
            "{address}"
        );
    }
}

#[testkit::each_engine]
async fn an_id_that_names_no_inbox_of_this_key_is_not_found(engine: Engine) {
    let api = Harness::on(engine).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    for id in [
        theirs.as_str(),
        "nobody",
        "%ff",
        "%00",
        "a%2Fb",
        "%",
        "a%20b",
        &"x".repeat(5_000),
    ] {
        for (method, path) in [
            ("GET", format!("/v1/inboxes/{id}")),
            ("DELETE", format!("/v1/inboxes/{id}")),
            ("GET", format!("/v1/inboxes/{id}/messages")),
            ("POST", format!("/v1/inboxes/{id}/messages")),
            ("GET", format!("/v1/inboxes/{id}/messages/wait")),
        ] {
            let missing = api.call(method, &path, "").await;
            assert_eq!(
                missing.error(),
                (404, "inbox not found".to_owned()),
                "{method} {path:.60}"
            );
        }
    }
    assert_eq!(
        api.call_with(&api.other_key, "GET", &format!("/v1/inboxes/{theirs}"), "")
            .await
            .status,
        200
    );
}

#[testkit::each_engine]
async fn deleting_takes_the_inbox_and_its_messages(engine: Engine) {
    let api = Harness::on(engine).await;
    let id = api.create_inbox().await;
    let message = api.deliver(&id, "Hello").await;
    let deleted = api.call("DELETE", &format!("/v1/inboxes/{id}"), "").await;
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    assert_eq!(
        api.get(&format!("/v1/messages/{message}")).await.error(),
        (404, "message not found".to_owned())
    );
    for (method, path) in [
        ("GET", format!("/v1/inboxes/{id}")),
        ("GET", format!("/v1/inboxes?address={id}@{MAIL_DOMAIN}")),
        ("GET", format!("/v1/inboxes/{id}/messages")),
        ("DELETE", format!("/v1/inboxes/{id}")),
    ] {
        assert_eq!(
            api.call(method, &path, "").await.error(),
            (404, "inbox not found".to_owned()),
            "{method} {path}"
        );
    }
}

#[testkit::each_engine]
async fn an_inbox_and_its_messages_are_gone_after_an_hour(engine: Engine) {
    let api = Harness::on(engine).await;
    let id = api.create_inbox().await;
    let message = api.deliver(&id, "Hello").await;
    api.clock.advance(HOUR - Duration::from_millis(1));
    assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.status, 200);
    assert_eq!(
        api.get(&format!("/v1/messages/{message}")).await.status,
        200
    );
    api.clock.advance(Duration::from_millis(1));
    assert_eq!(
        api.get(&format!("/v1/inboxes/{id}")).await.error(),
        (404, "inbox not found".to_owned())
    );
    assert_eq!(
        api.get(&format!("/v1/messages/{message}")).await.error(),
        (404, "message not found".to_owned())
    );
}

#[testkit::each_engine]
async fn mail_to_an_unknown_address_creates_a_temporary_inbox(engine: Engine) {
    let api = Harness::on(engine).await;
    let message = api.deliver("Sign-Up", "Hello").await;
    let inbox = api.get("/v1/inboxes/sign-up").await.json();
    assert_eq!(inbox["address"], format!("sign-up@{MAIL_DOMAIN}"));
    assert_eq!(inbox["kind"], "temporary");
    assert_eq!(inbox["expires_at"], "2026-11-20T10:30:00.123Z");
    assert_eq!(
        api.get(&format!("/v1/messages/{message}"))
            .await
            .text("inbox_id"),
        "sign-up"
    );
}
