//! Four waits at once for each key, and when a place is free again.
//!
//! That four waits hold their places shows by the fifth: of five that nothing answers, exactly one is refused, and when
//! it is, the others are in.

use futures_util::future::select_all;
use tokio::task::JoinHandle;

use crate::common::{Answer, Harness, request, within};

/// Opens four waits on as many inboxes; returns once all four hold their places.
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
    let waits = inboxes.iter().map(|inbox| open(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000")));
    let (refused, position, waits) = within(select_all(waits)).await;
    assert_eq!(refused.unwrap().error(), too_many());
    // As select_all has done with the waits.
    inboxes.swap_remove(position);
    inboxes.into_iter().zip(waits).collect()
}

/// What a wait that only looks once hears on a new inbox.
async fn look_once(api: &Harness) -> (u16, String) {
    let inbox = api.create_inbox().await;
    api.get(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=0")).await.error()
}

fn too_many() -> (u16, String) {
    (429, "too many concurrent waits".to_owned())
}

fn no_match() -> (u16, String) {
    (404, "no matching message".to_owned())
}

#[tokio::test]
async fn the_fifth_wait_is_refused_also_one_that_only_looks_once() {
    let api = Harness::start().await;
    let waits = four_waits(&api).await;
    assert_eq!(look_once(&api).await, too_many());
    let stored = api.create_inbox().await;
    api.deliver(&stored, "Hello").await;
    let refused = api.get(&format!("/v1/inboxes/{stored}/messages/wait")).await;
    assert_eq!(refused.error(), too_many(), "also where the message is already there");
    for (_, wait) in waits {
        assert!(!wait.is_finished());
    }
}

#[tokio::test]
async fn the_limit_is_checked_last() {
    let api = Harness::start().await;
    let waits = four_waits(&api).await;
    let refused = api.get(&format!("/v1/inboxes/{}/messages/wait?after=x", waits[0].0)).await;
    assert_eq!(refused.error(), (400, "invalid after".to_owned()));
    assert_eq!(api.get("/v1/inboxes/nobody/messages/wait").await.error(), (404, "inbox not found".to_owned()));
}

#[tokio::test]
async fn each_key_has_its_own_four() {
    let api = Harness::start().await;
    let _waits = four_waits(&api).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let path = format!("/v1/inboxes/{theirs}/messages/wait?timeout=0");
    assert_eq!(api.call_with(&api.other_key, "GET", &path, "").await.error(), no_match());
    assert_eq!(look_once(&api).await, too_many());
}

#[tokio::test]
async fn a_place_is_free_as_soon_as_its_wait_is_answered() {
    let api = Harness::start().await;
    for (inbox, wait) in four_waits(&api).await {
        let id = api.deliver(&inbox, "Hello").await;
        assert_eq!(wait.await.unwrap().text("id"), id);
        assert_eq!(look_once(&api).await, no_match());
    }
}

#[tokio::test]
async fn a_place_is_free_as_soon_as_the_client_hangs_up() {
    let api = Harness::start().await;
    for (_, wait) in four_waits(&api).await {
        wait.abort();
        assert!(wait.await.unwrap_err().is_cancelled());
        assert_eq!(look_once(&api).await, no_match());
    }
    four_waits(&api).await;
}

#[tokio::test]
async fn a_place_is_free_as_soon_as_the_inbox_is_deleted() {
    let api = Harness::start().await;
    for (inbox, wait) in four_waits(&api).await {
        assert_eq!(api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "").await.status, 204);
        assert_eq!(within(wait).await.unwrap().status, 404);
        assert_eq!(look_once(&api).await, no_match());
    }
}

#[tokio::test]
async fn a_refused_wait_takes_no_place() {
    let api = Harness::start().await;
    let waits = four_waits(&api).await;
    for _ in 0..10 {
        assert_eq!(look_once(&api).await, too_many());
    }
    for (inbox, wait) in waits {
        api.deliver(&inbox, "Hello").await;
        assert_eq!(wait.await.unwrap().status, 200);
    }
    four_waits(&api).await;
}

#[tokio::test]
async fn both_headers_and_both_prefixes_count_as_one_key() {
    let api = Harness::start().await;
    let waits = four_waits(&api).await;
    let path = format!("/api/v1/inboxes/{}/messages/wait", waits[0].0);
    let mut refused = request(&api.key, "GET", &path, "");
    let headers = refused.headers_mut();
    headers.remove("authorization");
    headers.insert("x-api-key", api.key.as_str().parse().unwrap());
    assert_eq!(api.send(refused).await.error(), too_many());
}
