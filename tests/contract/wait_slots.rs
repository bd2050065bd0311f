//! Each key has four waits at once. When is a slot free again?
//!
//! A fifth wait shows that four waits hold their slots: of five waits without a message exactly one
//! is refused, and then the others are open.

use futures_util::future::select_all;
use tokio::task::JoinHandle;

use testkit::{Answer, Engine, Harness, request, within};

/// Opens four waits on as many inboxes. Returns when all four hold their slots.
async fn four_waits(api: &Harness) -> Vec<(String, JoinHandle<Answer>)> {
    four_waits_by(api, |path| api.spawn_get(path)).await
}

/// The same with waits that `open` opens.
pub(super) async fn four_waits_by(
    api: &Harness,
    open: impl Fn(&str) -> JoinHandle<Answer>,
) -> Vec<(String, JoinHandle<Answer>)> {
    let mut inboxes = Vec::new();
    for _ in 0..5 {
        inboxes.push(api.create_inbox().await);
    }
    let waits = inboxes
        .iter()
        .map(|inbox| open(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000")));
    let (refused, position, waits) = within(select_all(waits)).await;
    assert_eq!(refused.unwrap().error(), too_many());
    // As select_all does with the waits.
    inboxes.swap_remove(position);
    inboxes.into_iter().zip(waits).collect()
}

/// The answer to a short wait on a new inbox.
async fn one_more(api: &Harness) -> (u16, String) {
    let inbox = api.create_inbox().await;
    api.time_out(&inbox, "").await.error()
}

fn too_many() -> (u16, String) {
    (429, "too many concurrent waits".to_owned())
}

fn timed_out() -> (u16, String) {
    (408, "timeout".to_owned())
}

#[testkit::each_engine]
async fn the_fifth_wait_that_has_to_stay_open_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    let waits = four_waits(&api).await;
    assert_eq!(one_more(&api).await, too_many());
    for (_, wait) in waits {
        assert!(!wait.is_finished());
    }
}

#[testkit::each_engine]
async fn a_wait_that_can_be_answered_at_once_needs_no_place(engine: Engine) {
    let api = Harness::on(engine).await;
    let _waits = four_waits(&api).await;
    let stored = api.create_inbox().await;
    let id = api.deliver(&stored, "Hello").await;
    assert_eq!(
        api.get(&format!("/v1/inboxes/{stored}/messages/wait"))
            .await
            .text("id"),
        id
    );
    let empty = api.create_inbox().await;
    let looked = api
        .get(&format!("/v1/inboxes/{empty}/messages/wait?timeout=0"))
        .await;
    assert_eq!(looked.error(), (404, "no matching message".to_owned()));
}

#[testkit::each_engine]
async fn the_limit_is_checked_last(engine: Engine) {
    let api = Harness::on(engine).await;
    let waits = four_waits(&api).await;
    let refused = api
        .get(&format!("/v1/inboxes/{}/messages/wait?after=x", waits[0].0))
        .await;
    assert_eq!(refused.error(), (400, "invalid after".to_owned()));
    assert_eq!(
        api.get("/v1/inboxes/nobody/messages/wait").await.error(),
        (404, "inbox not found".to_owned())
    );
}

#[testkit::each_engine]
async fn each_key_has_its_own_four(engine: Engine) {
    let api = Harness::on(engine).await;
    let _waits = four_waits(&api).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    assert_eq!(
        api.time_out_with(&api.other_key, &theirs, "").await.error(),
        timed_out()
    );
    assert_eq!(one_more(&api).await, too_many());
}

#[testkit::each_engine]
async fn a_place_is_free_as_soon_as_its_wait_is_answered(engine: Engine) {
    let api = Harness::on(engine).await;
    for (inbox, wait) in four_waits(&api).await {
        let id = api.deliver(&inbox, "Hello").await;
        assert_eq!(wait.await.unwrap().text("id"), id);
        assert_eq!(one_more(&api).await, timed_out());
    }
}

#[testkit::each_engine]
async fn a_place_is_free_as_soon_as_the_client_hangs_up(engine: Engine) {
    let api = Harness::on(engine).await;
    for (_, wait) in four_waits(&api).await {
        wait.abort();
        assert!(wait.await.unwrap_err().is_cancelled());
        assert_eq!(one_more(&api).await, timed_out());
    }
    four_waits(&api).await;
}

#[testkit::each_engine]
async fn a_place_is_free_as_soon_as_the_inbox_is_deleted(engine: Engine) {
    let api = Harness::on(engine).await;
    for (inbox, wait) in four_waits(&api).await {
        assert_eq!(
            api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
                .await
                .status,
            204
        );
        assert_eq!(within(wait).await.unwrap().status, 404);
        assert_eq!(one_more(&api).await, timed_out());
    }
}

#[testkit::each_engine]
async fn a_refused_wait_takes_no_place(engine: Engine) {
    let api = Harness::on(engine).await;
    let waits = four_waits(&api).await;
    for _ in 0..10 {
        assert_eq!(one_more(&api).await, too_many());
    }
    for (inbox, wait) in waits {
        api.deliver(&inbox, "Hello").await;
        assert_eq!(wait.await.unwrap().status, 200);
    }
    four_waits(&api).await;
}

#[testkit::each_engine]
async fn both_headers_and_both_prefixes_count_as_one_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let waits = four_waits(&api).await;
    let path = format!("/api/v1/inboxes/{}/messages/wait", waits[0].0);
    let mut refused = request(&api.key, "GET", &path, "");
    let headers = refused.headers_mut();
    headers.remove("authorization");
    headers.insert("x-api-key", api.key.as_str().parse().unwrap());
    assert_eq!(api.send(refused).await.error(), too_many());
}
