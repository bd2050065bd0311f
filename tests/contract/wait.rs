//! `GET /v1/inboxes/{id}/messages/wait`: what a wait returns, and how it ends without a message.

use std::time::Duration;

use futures_util::future::select_all;

use testkit::{Engine, Harness, within};

const MINUTE: Duration = Duration::from_secs(60);

fn wait_path(inbox: &str, query: &str) -> String {
    format!("/v1/inboxes/{inbox}/messages/wait?{query}")
}

#[testkit::each_engine]
async fn a_stored_message_is_returned_at_once_as_it_is_shown_alone(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver(&inbox, "Hello").await;
    let alone = api.get(&format!("/v1/messages/{id}")).await.json();
    for query in ["", "timeout=0", "timeout=120000", "timeout=x"] {
        let waited = api.get(&wait_path(&inbox, query)).await;
        assert_eq!(
            (waited.status, waited.json()),
            (200, alone.clone()),
            "{query}"
        );
    }
}

#[testkit::each_engine]
async fn the_oldest_match_comes_first_and_after_is_the_cursor(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let mut ids = Vec::new();
    for subject in ["one", "two", "three"] {
        ids.push(api.deliver(&inbox, subject).await);
    }
    for (query, subject) in [
        (String::new(), "one"),
        ("after=".to_owned(), "one"),
        (format!("after={}", ids[0]), "two"),
        (format!("after={}", ids[1]), "three"),
        (format!("after={}&subject=THREE", ids[0]), "three"),
    ] {
        assert_eq!(
            api.get(&wait_path(&inbox, &query)).await.text("subject"),
            subject,
            "{query}"
        );
    }
    let beyond = api
        .get(&wait_path(&inbox, &format!("timeout=0&after={}", ids[2])))
        .await;
    assert_eq!(beyond.error(), (404, "no matching message".to_owned()));
}

#[testkit::each_engine]
async fn a_wait_is_answered_when_its_message_arrives(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    // The wait and the mail may arrive in either order.
    for number in 0..20 {
        let cursor = if number == 0 {
            String::new()
        } else {
            newest(&api, &inbox).await
        };
        let waiting = api.spawn_get(&wait_path(&inbox, &format!("after={cursor}")));
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let id = api.deliver(&inbox, &format!("mail {number}")).await;
        let waited = waiting.await.unwrap();
        assert_eq!((waited.status, waited.text("id")), (200, id));
    }
}

async fn newest(api: &Harness, inbox: &str) -> String {
    let list = api
        .get(&format!("/v1/inboxes/{inbox}/messages?limit=1"))
        .await
        .json();
    list["messages"][0]["id"].as_str().unwrap().to_owned()
}

#[testkit::each_engine]
async fn several_waits_on_one_inbox_are_all_answered(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let waiting: Vec<_> = (0..4)
        .map(|_| api.spawn_get(&wait_path(&inbox, "")))
        .collect();
    let id = api.deliver(&inbox, "Hello").await;
    for wait in waiting {
        assert_eq!(wait.await.unwrap().text("id"), id);
    }
}

#[testkit::each_engine]
async fn mail_that_does_not_match_leaves_a_wait_open(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let elsewhere = api.create_inbox().await;
    let waiting = api.spawn_get(&wait_path(&inbox, "subject=%C3%9Cberweisung"));
    api.deliver(&elsewhere, "=?utf-8?q?=C3=9Cberweisung?=")
        .await;
    api.deliver(&inbox, "Welcome").await;
    let id = api
        .deliver(&inbox, "Ihre =?utf-8?q?=C3=BCBERWEISUNG?=")
        .await;
    api.deliver(&inbox, "=?utf-8?q?=C3=9Cberweisung?= 2").await;
    assert_eq!(waiting.await.unwrap().text("id"), id);
}

#[testkit::each_engine]
async fn a_wait_ends_at_its_timeout(engine: Engine) {
    let api = Harness::on(engine).await;
    for (query, timeout) in [
        ("timeout=5003", 5_003),
        ("timeout=", 15_000),
        ("timeout=-1", 15_000),
        ("timeout=1.5", 15_000),
        ("timeout=soon", 15_000),
        ("timeout=999999", 120_000),
        ("timeout=99999999999999999999999", 120_000),
    ] {
        let inbox = api.create_inbox().await;
        api.deliver(&inbox, "Hello").await;
        let deadline = api.clock.instant().after(Duration::from_millis(timeout));
        let waiting = api.spawn_get(&wait_path(&inbox, &format!("subject=other&{query}")));
        assert_eq!(
            api.at_deadline(deadline, waiting).await.error(),
            (408, "timeout".to_owned()),
            "{query}"
        );
        assert_eq!(api.clock.instant(), deadline, "{query}");
    }
}

#[testkit::each_engine]
async fn a_timeout_of_zero_is_one_lookup(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let waited = api.get(&wait_path(&inbox, "timeout=0")).await;
    assert_eq!(waited.error(), (404, "no matching message".to_owned()));
    api.deliver(&inbox, "Hello").await;
    let waited = api.get(&wait_path(&inbox, "timeout=0&subject=other")).await;
    assert_eq!(waited.error(), (404, "no matching message".to_owned()));
    assert_eq!(
        api.get(&wait_path(&inbox, "timeout=0&subject=HELL"))
            .await
            .status,
        200
    );
}

#[testkit::each_engine]
async fn an_after_that_names_no_message_of_the_inbox_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let elsewhere = api.create_inbox().await;
    let other = api.deliver(&elsewhere, "Hello").await;
    let unknown = restante::model::MessageId::generate().to_string();
    for after in ["x", "%00", "%ff", &other, &unknown] {
        let refused = api.get(&wait_path(&inbox, &format!("after={after}"))).await;
        assert_eq!(
            refused.error(),
            (400, "invalid after".to_owned()),
            "{after}"
        );
    }
}

#[testkit::each_engine]
async fn deleting_the_inbox_ends_its_waits_at_once(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let waiting: Vec<_> = (0..3)
        .map(|_| api.spawn_get(&wait_path(&inbox, "timeout=120000")))
        .collect();
    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    for wait in waiting {
        assert_eq!(
            within(wait).await.unwrap().error(),
            (404, "inbox not found".to_owned())
        );
    }
}

#[testkit::each_engine]
async fn the_inbox_s_end_ends_its_waits_before_their_timeout(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.clock.advance(59 * MINUTE);
    let waiting = api.spawn_get(&wait_path(&inbox, "timeout=120000"));
    api.clock.advance(MINUTE);
    assert_eq!(
        within(waiting).await.unwrap().error(),
        (404, "inbox not found".to_owned())
    );
}

#[testkit::each_engine]
async fn a_permanent_inbox_waits_past_the_hour_and_is_not_deleted(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.make_permanent(&inbox).await;
    api.clock.advance(60 * MINUTE);
    let waiting = api.spawn_get(&wait_path(&inbox, "timeout=120000"));
    let refused = api
        .call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
        .await;
    assert_eq!(
        refused.error(),
        (
            403,
            "permanent inboxes are managed in the dashboard".to_owned()
        )
    );
    let shown = api.get(&format!("/v1/inboxes/{inbox}")).await.json();
    assert_eq!(
        (&shown["kind"], &shown["expires_at"]),
        (&"permanent".into(), &serde_json::Value::Null)
    );
    api.deliver(&inbox, "Hello").await;
    assert_eq!(waiting.await.unwrap().text("subject"), "Hello");
}

#[testkit::each_engine]
async fn a_wait_ends_at_once_when_its_project_is_deleted(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox_with(&api.other_key).await;
    let deleting = async || api.service.projects().delete("other").await;
    let path = wait_path(&inbox, "");
    let waiting = api.call_with(&api.other_key, "GET", &path, axum::body::Body::empty());
    // After its first poll, the wait is open or about to be.
    let (waited, deleted) = within(async { tokio::join!(waiting, deleting()) }).await;
    deleted.unwrap();
    assert!(matches!(waited.status, 401 | 404), "{waited:?}");
}

#[testkit::each_engine]
async fn a_wait_whose_key_was_revoked_gets_no_message(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox_with(&api.other_key).await;
    let path = format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000");
    let open = |_| api.spawn_get_with(&api.other_key, &path);
    // When one of five is refused, the other four are open.
    let (refused, _, mut waits) = within(select_all((0..5).map(open))).await;
    assert_eq!(refused.unwrap().status, 429);
    api.service
        .projects()
        .rotate_key("other", Duration::ZERO)
        .await
        .unwrap();
    api.deliver(&inbox, "Hello").await;
    let answer = within(waits.remove(0)).await.unwrap();
    assert_eq!(answer.error(), (401, "unauthorized".to_owned()));
}

/// While the database is unavailable a wait stays open; this one has failed.
#[testkit::each_engine]
async fn a_failing_database_ends_a_wait_at_once(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.run_sql("ALTER TABLE messages RENAME TO elsewhere")
        .await;
    let failed = within(api.spawn_get(&wait_path(&inbox, "timeout=120000")))
        .await
        .unwrap();
    assert_eq!(failed.error(), (500, "internal error".to_owned()));
}
