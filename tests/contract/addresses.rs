//! `PUT /v1/inboxes/{address}` and mail to accepted domains other than the mail domain
//! (`--accept-domains`).

use std::time::Duration;

use restante::model::ApiKey;
use serde_json::{Value, json};

use super::smtp::Smtp;
use testkit::{Engine, Harness, MAIL_DOMAIN};

const MAIL: &str = "From: shop@app.example\r\nSubject: Welcome\r\n\r\nHello";
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const ADA: &str = "ada@example.com";

async fn put(api: &Harness, key: &ApiKey, address: &str) -> (u16, Value) {
    let answer = api
        .call_with(key, "PUT", &format!("/v1/inboxes/{address}"), "")
        .await;
    (answer.status, answer.json())
}

/// The id of the project's inbox with this address, which must be new.
async fn created(api: &Harness, key: &ApiKey, address: &str) -> String {
    let (status, inbox) = put(api, key, address).await;
    assert_eq!(status, 201, "{inbox}");
    inbox["id"].as_str().unwrap().to_owned()
}

/// The number of messages in the project's inbox with this address; `None` if it has none.
async fn messages(api: &Harness, key: &ApiKey, address: &str) -> Option<usize> {
    let query = address.replace('+', "%2B");
    let found = api
        .call_with(key, "GET", &format!("/v1/inboxes?address={query}"), "")
        .await;
    if found.status == 404 {
        return None;
    }
    let list = api
        .call_with(
            key,
            "GET",
            &format!("/v1/inboxes/{}/messages", found.text("id")),
            "",
        )
        .await;
    Some(list.json()["messages"].as_array().unwrap().len())
}

/// The reply to a message from a client without a login.
async fn send(smtp: &Smtp, recipient: &str) -> String {
    smtp.send(recipient, MAIL).await
}

/// The reply to a message from a client that logged in.
async fn send_as(smtp: &Smtp, key: &ApiKey, recipient: &str) -> String {
    smtp.client_of(key).await.send(&[recipient], MAIL).await
}

async fn start(engine: Engine, domains: &str) -> (Harness, Smtp) {
    let api = Harness::accepting(engine, domains).await;
    let smtp = Smtp::start(&api).await;
    (api, smtp)
}

#[testkit::each_engine]
async fn a_put_creates_the_inbox_once(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let (status, inbox) = put(&api, &api.key, "Ada@Example.COM").await;
    assert_eq!(
        (status, &inbox["address"], &inbox["kind"]),
        (201, &json!(ADA), &json!("temporary"))
    );
    assert_eq!(inbox["expires_at"], "2026-11-20T10:30:00.123Z");
    assert_eq!(inbox["id"].as_str().unwrap().len(), 16);
    for address in [ADA, "ada%40example.com", "ADA%40EXAMPLE.com"] {
        assert_eq!(
            put(&api, &api.key, address).await,
            (200, inbox.clone()),
            "{address}"
        );
    }
    let id = inbox["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.json(), inbox);
    assert_eq!(
        api.get(&format!("/v1/inboxes?address={ADA}")).await.json(),
        inbox
    );
    // The id is no address on the mail domain.
    assert_eq!(
        api.get(&format!("/v1/inboxes?address={id}@restante.example.com"))
            .await
            .status,
        404
    );
}

#[testkit::each_engine]
async fn a_put_gives_a_temporary_inbox_one_more_full_lifetime(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    for address in [ADA, "ada@restante.example.com"] {
        let id = created(&api, &api.key, address).await;
        api.clock.advance(HOUR / 2);
        let (status, extended) = put(&api, &api.key, address).await;
        let expected = api.clock.now().after(HOUR).to_string();
        assert_eq!(
            (status, &extended["id"], &extended["expires_at"]),
            (200, &json!(id), &json!(expected))
        );
        api.clock.advance(HOUR - Duration::from_millis(1));
        assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.status, 200);
        api.clock.advance(Duration::from_millis(1));
        assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.status, 404);
        // It begins again, empty, and keeps its id.
        assert_eq!(created(&api, &api.key, address).await, id);
        assert_eq!(messages(&api, &api.key, address).await, Some(0));
    }
}

#[testkit::each_engine]
async fn a_put_leaves_a_permanent_inbox_as_it_is(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let id = created(&api, &api.key, ADA).await;
    api.make_permanent(&id).await;
    let (status, inbox) = put(&api, &api.key, ADA).await;
    assert_eq!(
        (status, &inbox["kind"], &inbox["expires_at"]),
        (200, &json!("permanent"), &Value::Null)
    );
}

#[testkit::each_engine]
async fn an_open_wait_outlives_the_end_that_a_put_has_moved(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let id = created(&api, &api.key, ADA).await;
    api.clock.advance(HOUR - Duration::from_secs(10));
    let deadline = api.clock.instant().after(Duration::from_secs(60));
    let waiting = api.spawn_get(&format!("/v1/inboxes/{id}/messages/wait?timeout=60000"));
    put(&api, &api.key, ADA).await;
    let answer = api.at_deadline(deadline, waiting).await;
    assert_eq!(answer.error(), (408, "timeout".to_owned()));
    assert_eq!(api.get(&format!("/v1/inboxes/{id}")).await.status, 200);
}

#[testkit::each_engine]
async fn what_cannot_be_put_is_refused(engine: Engine) {
    let api = Harness::accepting(engine, "example.com,*.shop.test").await;
    for (address, error) in [
        ("ada", "invalid address"),
        ("@example.com", "invalid address"),
        ("ada@", "invalid address"),
        ("ada@@example.com", "invalid address"),
        ("ada@example.com.", "invalid address"),
        ("ada@[127.0.0.1]", "invalid address"),
        ("a%20b@example.com", "invalid address"),
        ("ada@example.org", "domain not accepted"),
        ("ada@sub.example.com", "domain not accepted"),
        ("ada@shop.test", "domain not accepted"),
    ] {
        let answer = api.call("PUT", &format!("/v1/inboxes/{address}"), "").await;
        assert_eq!(answer.error(), (400, error.to_owned()), "{address}");
    }
    for address in [
        "ada@a.shop.test",
        "ada@b.a.SHOP.test",
        "o'neil@restante.example.com",
        "j%C3%B6rg@example.com",
    ] {
        assert_eq!(put(&api, &api.key, address).await.0, 201, "{address}");
    }
    let answer = api
        .call(
            "PUT",
            "/v1/inboxes/ada@example.com",
            r#"{"kind":"permanent"}"#,
        )
        .await;
    assert_eq!(answer.error(), (400, "unknown field: kind".to_owned()));
    assert_eq!(
        api.call("PUT", "/v1/inboxes/ada@example.com", "{}")
            .await
            .status,
        201
    );
}

#[testkit::each_engine]
async fn a_label_is_kept_until_another_replaces_it(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let caller = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap();
    let put = async |address: &str, label: Option<&'static str>| {
        let mut request = testkit::request(&api.key, "PUT", &format!("/v1/inboxes/{address}"), "");
        if let Some(label) = label {
            request
                .headers_mut()
                .insert("x-restante-label", label.parse().unwrap());
        }
        let answer = api.send(request).await;
        let inbox = api
            .service
            .inbox(&caller, &answer.text("id"))
            .await
            .unwrap();
        (answer.status, api.service.label(&inbox).await.unwrap())
    };
    for address in [ADA, "ada@restante.example.com"] {
        assert_eq!(
            put(address, Some("signs%20up")).await,
            (201, Some("signs up".to_owned()))
        );
        assert_eq!(put(address, None).await, (200, Some("signs up".to_owned())));
        assert_eq!(
            put(address, Some("signs%20in")).await,
            (200, Some("signs in".to_owned()))
        );
        // The next life of the address.
        api.clock.advance(2 * HOUR);
        assert_eq!(put(address, None).await, (201, None));
    }
}

#[testkit::each_engine]
async fn an_address_on_the_mail_domain_has_one_owner(engine: Engine) {
    let api = Harness::on(engine).await;
    let taken = (409, json!({"error": "address belongs to another project"}));
    let address = |name: &str| format!("{name}@restante.example.com");
    let id = created(&api, &api.other_key, &address("Ada")).await;
    assert_eq!(id, "ada");
    assert_eq!(put(&api, &api.key, &address("ada")).await, taken);
    assert_eq!(
        put(&api, &api.key, &address("ada+news")).await,
        taken,
        "a tag belongs to the owner of its base"
    );
    assert_eq!(put(&api, &api.other_key, &address("ada+news")).await.0, 201);
    api.clock.advance(HOUR);
    assert_eq!(
        put(&api, &api.key, &address("ada")).await,
        taken,
        "it is reserved"
    );
    assert_eq!(put(&api, &api.key, &address("ada+other")).await, taken);
    assert_eq!(put(&api, &api.other_key, &address("ada")).await.0, 201);
}

#[testkit::each_engine]
async fn the_first_to_take_an_address_with_a_tag_owns_the_address_and_all_tags(engine: Engine) {
    let (api, smtp) = start(engine, "").await;
    let at = |local_part: &str| format!("{local_part}@{MAIL_DOMAIN}");
    created(&api, &api.other_key, &at("shop+otp")).await;
    for local_part in ["shop", "shop+x", "shop+otp+x"] {
        let (status, taken) = put(&api, &api.key, &at(local_part)).await;
        assert_eq!(status, 409, "{local_part} {taken}");
        let refused = send_as(&smtp, &api.key, &at(local_part)).await;
        assert!(refused.starts_with("550"), "{local_part} {refused}");
    }
    // The address itself has no inbox yet, and never had one.
    let found = api.call_with(&api.other_key, "GET", "/v1/inboxes/shop", "");
    assert_eq!(found.await.status, 404);
    assert_eq!(explained(&api, &api.other_key, "shop").await.0, 404);
    assert!(send(&smtp, &at("shop+y")).await.starts_with("250"));
    assert_eq!(messages(&api, &api.other_key, &at("shop+y")).await, Some(1));
    created(&api, &api.other_key, &at("shop")).await;

    // The first mail takes an address as a request does.
    assert!(
        send_as(&smtp, &api.key, &at("cart+a"))
            .await
            .starts_with("250")
    );
    assert_eq!(put(&api, &api.other_key, &at("cart")).await.0, 409);
    created(&api, &api.key, &at("cart")).await;
}

#[testkit::each_engine]
async fn two_requests_at_once_create_one_inbox(engine: Engine) {
    let api = Harness::accepting(engine, "*").await;
    let results = futures_util::future::join_all((0..8).map(|_| put(&api, &api.key, ADA))).await;
    let ids: std::collections::HashSet<String> = results
        .iter()
        .map(|(_, inbox)| inbox["id"].as_str().unwrap().to_owned())
        .collect();
    let statuses: Vec<u16> = results.iter().map(|(status, _)| *status).collect();
    assert_eq!(
        (
            ids.len(),
            statuses.iter().filter(|status| **status == 201).count()
        ),
        (1, 1),
        "{statuses:?}"
    );
}

#[testkit::each_engine]
async fn each_project_has_an_inbox_of_its_own(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    let one = created(&api, &api.key, ADA).await;
    let other = created(&api, &api.other_key, ADA).await;
    assert_ne!(one, other);
    assert!(send_as(&smtp, &api.key, ADA).await.starts_with("250"));
    for _ in 0..2 {
        assert!(
            send_as(&smtp, &api.other_key, "Ada@EXAMPLE.com")
                .await
                .starts_with("250")
        );
    }
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(1), Some(2))
    );
    // Nobody notices the other project.
    for path in [
        format!("/v1/inboxes/{other}"),
        format!("/v1/inboxes/{other}/messages"),
    ] {
        assert_eq!(
            api.get(&path).await.error(),
            (404, "inbox not found".to_owned())
        );
    }
    let message = &api.get(&format!("/v1/inboxes/{one}/messages")).await.json()["messages"][0];
    assert_eq!(
        (&message["to"], &message["inbox_id"]),
        (&json!(ADA), &json!(one))
    );
    let details = api
        .get(&format!(
            "/v1/messages/{}/details",
            message["id"].as_str().unwrap()
        ))
        .await
        .json();
    assert_eq!(details["envelope"]["to"], ADA);
}

#[testkit::each_engine]
async fn with_a_login_mail_creates_the_inbox_of_that_project(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    created(&api, &api.key, ADA).await;
    assert!(send_as(&smtp, &api.other_key, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(0), Some(1))
    );
}

#[testkit::each_engine]
async fn without_a_login_the_only_live_inbox_gets_the_mail(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    created(&api, &api.other_key, ADA).await;
    assert!(send(&smtp, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (None, Some(1))
    );
}

#[testkit::each_engine]
async fn without_a_login_the_project_that_had_the_address_gets_the_mail_for_30_days(
    engine: Engine,
) {
    let (api, smtp) = start(engine, "example.com").await;
    let id = created(&api, &api.other_key, ADA).await;
    assert_eq!(
        api.call_with(&api.other_key, "DELETE", &format!("/v1/inboxes/{id}"), "")
            .await
            .status,
        204
    );
    api.clock.advance(29 * DAY);
    assert!(send(&smtp, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (None, Some(1))
    );
}

#[testkit::each_engine]
async fn without_a_login_a_new_address_is_the_default_project_s(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    assert!(send(&smtp, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(1), None)
    );
    // Two projects had it: the default project gets it again.
    created(&api, &api.other_key, ADA).await;
    api.clock.advance(HOUR);
    assert!(send(&smtp, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(1), None)
    );
}

#[testkit::each_engine]
async fn an_ambiguous_address_is_refused_and_explained_in_each_project(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    let inboxes = [
        created(&api, &api.key, ADA).await,
        created(&api, &api.other_key, ADA).await,
    ];
    for recipient in [ADA, "ada+tag@example.com"] {
        assert_eq!(
            send(&smtp, recipient).await,
            "550 5.7.1 several projects have this address: log in with the API key of one\r\n"
        );
    }
    for (key, inbox) in [&api.key, &api.other_key].into_iter().zip(&inboxes) {
        let explained = api
            .call_with(key, "GET", &format!("/v1/inboxes/{inbox}/explain"), "")
            .await
            .json();
        assert_eq!(
            explained["refused"].as_array().unwrap().len(),
            2,
            "{explained}"
        );
        assert_eq!(explained["refused"][0]["recipient"], "ada+tag@example.com");
        let summary = explained["summary"].as_str().unwrap();
        assert!(
            summary.contains("several projects have this address"),
            "{summary}"
        );
    }
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(0), Some(0))
    );
}

#[testkit::each_engine]
async fn tags_work_as_on_the_mail_domain(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    created(&api, &api.key, ADA).await;
    created(&api, &api.key, "ada+own@example.com").await;
    for recipient in [
        "ada+own@example.com",
        "ada+any@example.com",
        "bob+any@example.com",
    ] {
        assert!(
            send_as(&smtp, &api.key, recipient).await.starts_with("250"),
            "{recipient}"
        );
    }
    assert_eq!(messages(&api, &api.key, ADA).await, Some(1));
    assert_eq!(
        messages(&api, &api.key, "ada+own@example.com").await,
        Some(1)
    );
    assert_eq!(
        messages(&api, &api.key, "bob+any@example.com").await,
        Some(1)
    );
    assert_eq!(messages(&api, &api.key, "ada+any@example.com").await, None);
    assert_eq!(messages(&api, &api.key, "bob@example.com").await, None);
}

async fn send_from(api: &Harness, key: &ApiKey, inbox: &str, to: &str) -> (u16, Value) {
    let body = json!({"to": to, "subject": "Hi", "text": "Hello"}).to_string();
    let answer = api
        .call_with(key, "POST", &format!("/v1/inboxes/{inbox}/messages"), body)
        .await;
    (answer.status, answer.json())
}

#[testkit::each_engine]
async fn a_send_reaches_the_own_project_s_inbox_or_nothing(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let sender = created(&api, &api.key, ADA).await;
    let other = created(&api, &api.other_key, "bob@example.com").await;
    let nobody = (404, json!({"error": "recipient not found"}));
    assert_eq!(
        send_from(&api, &api.key, &sender, "bob@example.com").await,
        nobody,
        "it is another project's"
    );
    assert_eq!(
        messages(&api, &api.other_key, "bob@example.com").await,
        Some(0)
    );
    created(&api, &api.key, "bob@example.com").await;
    let (status, sent) = send_from(&api, &api.key, &sender, "bob+x@example.com").await;
    assert_eq!(status, 202);
    let outgoing = api
        .get(&format!("/v1/outgoing/{}", sent["id"].as_str().unwrap()))
        .await;
    assert_eq!(outgoing.text("status"), "sent");
    assert_eq!(messages(&api, &api.key, "bob@example.com").await, Some(1));
    assert_eq!(
        messages(&api, &api.other_key, "bob@example.com").await,
        Some(0)
    );
    let bob = api
        .get("/v1/inboxes?address=bob@example.com")
        .await
        .text("id");
    let message = &api.get(&format!("/v1/inboxes/{bob}/messages")).await.json()["messages"][0];
    assert_eq!(message["from"], ADA);
    // An inbox of the other project may answer to an address on the mail domain.
    let id = api.create_inbox().await;
    assert_eq!(
        send_from(
            &api,
            &api.other_key,
            &other,
            &format!("{id}@restante.example.com")
        )
        .await
        .0,
        202
    );
    // The id of an inbox with another address is no address on the mail domain.
    assert_eq!(
        send_from(
            &api,
            &api.key,
            &sender,
            &format!("{bob}@restante.example.com")
        )
        .await,
        nobody
    );
}

#[testkit::each_engine]
async fn the_id_of_such_an_inbox_is_no_address_on_the_mail_domain(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    let id = created(&api, &api.key, ADA).await;
    let address = format!("{id}@restante.example.com");
    assert!(send(&smtp, &address).await.starts_with("550 5.2.1"));
    assert!(
        send_as(&smtp, &api.other_key, &address)
            .await
            .starts_with("550 5.2.1")
    );
    assert_eq!(messages(&api, &api.key, ADA).await, Some(0));
    assert_eq!(put(&api, &api.key, &address).await.0, 409);
}

#[testkit::each_engine]
async fn with_every_domain_accepted_each_kind_of_address_has_its_answer(engine: Engine) {
    let (api, smtp) = start(engine, "*").await;
    for (recipient, stored) in [
        ("root@localhost", "root@localhost"),
        ("ADA@SHOP.EXAMPLE", "ada@shop.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("Ada@restante.example.com", "ada@restante.example.com"),
    ] {
        let reply = send(&smtp, recipient).await;
        assert!(reply.starts_with("250"), "{recipient}: {reply}");
        assert_eq!(
            messages(&api, &api.key, stored).await,
            Some(1),
            "{recipient}"
        );
    }
    let mut client = smtp.client().await;
    client.say("MAIL FROM:<app@app.example> SMTPUTF8").await;
    assert!(
        client
            .say("RCPT TO:<ada@BÜCHER.example>")
            .await
            .starts_with("250")
    );
    assert!(
        client
            .say("RCPT TO:<jörg@example.com>")
            .await
            .starts_with("250")
    );
    client.say("DATA").await;
    assert!(client.say(&format!("{MAIL}\r\n.")).await.starts_with("250"));
    assert_eq!(
        messages(&api, &api.key, "ada@xn--bcher-kva.example").await,
        Some(2)
    );
    assert_eq!(
        messages(&api, &api.key, "ada@b%C3%BCcher.example").await,
        Some(2)
    );
    assert_eq!(
        messages(&api, &api.key, "j%C3%B6rg@example.com").await,
        Some(1)
    );
    for (recipient, code) in [
        ("ada@[127.0.0.1]", "550 5.7.1"),
        ("ada@[IPv6:::1]", "550 5.7.1"),
        ("ada@example.com.", "553 5.1.3"),
        ("ada@my_app", "553 5.1.3"),
        ("ada@B\u{fc}cher.example", "553 5.6.7"),
    ] {
        let reply = send(&smtp, recipient).await;
        assert!(reply.starts_with(code), "{recipient}: {reply}");
    }
}

/// The status of the explanation for an inbox with this name, and its inbox or how it ended.
async fn explained(api: &Harness, key: &ApiKey, name: &str) -> (u16, Value) {
    let answer = api
        .call_with(key, "GET", &format!("/v1/inboxes/{name}/explain"), "")
        .await;
    let body = answer.json();
    let found = if body["inbox"].is_null() {
        &body["ended"]["reason"]
    } else {
        &body["inbox"]["id"]
    };
    (answer.status, found.clone())
}

#[testkit::each_engine]
async fn an_inbox_is_explained_by_its_address_even_after_its_end(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let ada = created(&api, &api.key, ADA).await;
    let own = api.create_inbox().await;
    let on_mail_domain = format!("{own}@{}", MAIL_DOMAIN);
    for (name, id) in [
        ("Ada@Example.com", &ada),
        ("ada%40example.com", &ada),
        (&on_mail_domain, &own),
        (&own, &own),
    ] {
        assert_eq!(
            explained(&api, &api.key, name).await,
            (200, json!(id)),
            "{name}"
        );
        assert_eq!(explained(&api, &api.other_key, name).await.0, 404, "{name}");
    }
    // The id of an inbox with another address is no address on the mail domain.
    for name in [
        format!("{ada}@{}", MAIL_DOMAIN),
        "bob@example.com".to_owned(),
        "@".to_owned(),
    ] {
        assert_eq!(explained(&api, &api.key, &name).await.0, 404, "{name}");
    }
    for id in [&ada, &own] {
        assert_eq!(
            api.call("DELETE", &format!("/v1/inboxes/{id}"), "")
                .await
                .status,
            204
        );
    }
    for name in [ADA, &on_mail_domain] {
        assert_eq!(
            explained(&api, &api.key, name).await,
            (200, json!("deleted")),
            "{name}"
        );
        assert_eq!(explained(&api, &api.other_key, name).await.0, 404, "{name}");
    }
}

#[testkit::each_engine]
async fn a_refused_domain_is_explained_with_the_flag(engine: Engine) {
    let (api, smtp) = start(engine, "*.shop.test").await;
    let id = api.create_inbox().await;
    assert!(
        send(&smtp, &format!("{id}@shop.test"))
            .await
            .starts_with("550 5.7.1 relay not permitted")
    );
    let explained = api.get(&format!("/v1/inboxes/{id}/explain")).await;
    let summary = explained.text("summary");
    assert!(
        summary.ends_with(", or start the server with `--accept-domains *.shop.test,shop.test`."),
        "{summary}"
    );
}

#[testkit::each_engine]
async fn a_refusal_for_an_accepted_domain_is_not_that_of_the_same_name_on_the_mail_domain(
    engine: Engine,
) {
    let (api, smtp) = start(engine, "example.com").await;
    let id = created(&api, &api.key, "ada@restante.example.com").await;
    let refused = async || {
        let explained = api.get(&format!("/v1/inboxes/{id}/explain")).await.json();
        explained["refused"].as_array().unwrap().len()
    };
    assert!(smtp.send(ADA, "a\nb").await.starts_with("550 5.6.11"));
    assert!(
        smtp.client_of(&api.key)
            .await
            .send(&[ADA], "a\nb")
            .await
            .starts_with("550 5.6.11")
    );
    assert_eq!(refused().await, 0);
    assert!(
        smtp.send("ada@restante.example.com", "a\nb")
            .await
            .starts_with("550 5.6.11")
    );
    assert_eq!(refused().await, 1);
}

#[testkit::each_engine]
async fn an_inbox_is_found_by_its_address_and_not_by_its_hidden_id(engine: Engine) {
    let api = Harness::accepting(engine, "example.com").await;
    let id = created(&api, &api.key, ADA).await;
    for (search, expected) in [
        ("ADA@Example.com", 1),
        ("ada", 1),
        ("example.com", 1),
        (&id, 0),
    ] {
        let found = api
            .get(&format!("/v1/project/inboxes?search={search}"))
            .await
            .json();
        assert_eq!(
            found["inboxes"].as_array().unwrap().len(),
            expected,
            "{search}: {found}"
        );
    }
}

#[testkit::each_engine]
async fn faults_and_limits_are_those_of_the_project_s_inbox(engine: Engine) {
    let (api, smtp) = start(engine, "example.com").await;
    let id = created(&api, &api.key, ADA).await;
    created(&api, &api.other_key, ADA).await;
    let faults = json!({"faults": [{"at": "rcpt", "do": "defer"}, {"at": "data", "do": "bounce"}]})
        .to_string();
    assert_eq!(
        api.call("PUT", &format!("/v1/inboxes/{id}/faults"), faults)
            .await
            .status,
        200
    );
    assert!(
        send_as(&smtp, &api.other_key, ADA).await.starts_with("250"),
        "another project has no fault"
    );
    assert!(send_as(&smtp, &api.key, ADA).await.starts_with("451"));
    assert!(
        send_as(&smtp, &api.key, "ada+x@example.com")
            .await
            .starts_with("250"),
        "it bounces"
    );
    assert_eq!(messages(&api, &api.key, ADA).await, Some(0));
    let explained = api.get(&format!("/v1/inboxes/{id}/explain")).await.json();
    assert_eq!(
        explained["refused"].as_array().unwrap().len(),
        2,
        "{explained}"
    );
    assert!(send_as(&smtp, &api.key, ADA).await.starts_with("250"));
    assert_eq!(
        (
            messages(&api, &api.key, ADA).await,
            messages(&api, &api.other_key, ADA).await
        ),
        (Some(1), Some(1))
    );
}

#[testkit::each_engine]
async fn two_projects_with_the_same_seeded_users_share_no_mail(engine: Engine) {
    const USERS: usize = 20;
    let (api, smtp) = start(engine, "example.com").await;
    let keys = [&api.key, &api.other_key];
    let address = |user: usize| format!("user{user}@example.com");
    let api = &api;
    let smtp = &smtp;
    let users = (0..USERS).flat_map(|user| keys.map(|key| (key, address(user))));
    let runs = users.map(|(key, address)| async move {
        let (status, _) = put(api, key, &address).await;
        assert!([200, 201].contains(&status));
        let text = format!("Subject: {}\r\n\r\nHello", key.as_str());
        assert!(
            smtp.client_of(key)
                .await
                .send(&[&address], &text)
                .await
                .starts_with("250")
        );
    });
    futures_util::future::join_all(runs).await;
    for key in keys {
        for user in 0..USERS {
            let find = format!("/v1/inboxes?address={}", address(user));
            let inbox = api.call_with(key, "GET", &find, "").await.text("id");
            let list = api
                .call_with(key, "GET", &format!("/v1/inboxes/{inbox}/messages"), "")
                .await
                .json();
            let subjects: Vec<&Value> = list["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| &it["subject"])
                .collect();
            assert_eq!(subjects, [key.as_str()]);
        }
    }
}
