//! Deleting messages and inboxes in the dashboard, and taking that back for ten seconds.

use std::time::Duration;

use restante::service::UNDO_TIME;

use super::visitor::Visitor;
use testkit::{Answer, Engine, Harness, within};

/// The id of the deletion that a redirect names.
fn deletion(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer:?}");
    answer.headers["location"]
        .to_str()
        .unwrap()
        .split("undo=")
        .nth(1)
        .unwrap()
        .to_owned()
}

async fn subjects(harness: &Harness, inbox: &str) -> Vec<String> {
    let list = harness
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    let messages = list["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["subject"].as_str().unwrap().to_owned())
        .collect()
}

/// How many messages the default project has, as its inboxes count them.
async fn count(harness: &Harness) -> i64 {
    let caller = harness
        .service
        .authenticate(harness.key.as_str())
        .await
        .unwrap()
        .unwrap();
    harness
        .service
        .inbox_totals(caller.project)
        .await
        .unwrap()
        .messages
}

#[testkit::each_engine]
async fn a_deleted_message_can_be_restored(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    let first = harness.deliver(&inbox, "First").await;
    harness.deliver(&inbox, "Second").await;
    let page = format!("{project}/inboxes/{inbox}");
    let undo = deletion(
        &own.post(&format!("{page}/messages/{first}/delete"), &[])
            .await,
    );
    assert_eq!(subjects(&harness, &inbox).await, ["Second"]);
    assert_eq!(
        harness.get(&format!("/v1/messages/{first}")).await.status,
        404
    );
    let shown = own.get(&format!("{page}?undo={undo}")).await.body;
    assert!(
        shown.contains("Deleted.") && shown.contains(&undo),
        "{shown}"
    );
    let back = own
        .post(
            &format!("{project}/undo"),
            &[("deletion", &undo), ("back", &page)],
        )
        .await;
    assert_eq!(
        (back.status, back.headers["location"].to_str().unwrap()),
        (303, page.as_str())
    );
    assert_eq!(subjects(&harness, &inbox).await, ["Second", "First"]);
    assert_eq!(
        harness
            .get(&format!("/v1/messages/{first}"))
            .await
            .text("subject"),
        "First"
    );
    assert_eq!(
        own.post(&format!("{project}/undo"), &[("deletion", &undo)])
            .await
            .status,
        422,
        "only once"
    );

    let undo = deletion(&own.post(&format!("{page}/empty"), &[]).await);
    assert_eq!(subjects(&harness, &inbox).await, [""; 0]);
    harness.deliver(&inbox, "Third").await;
    own.post(&format!("{project}/undo"), &[("deletion", &undo)])
        .await;
    assert_eq!(
        subjects(&harness, &inbox).await,
        ["Third", "Second", "First"]
    );
    assert_eq!(count(&harness).await, 3);
}

/// An open wait may already have compared later messages than the one that comes back.
#[testkit::each_engine]
async fn an_open_wait_gets_a_restored_message(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    let code = harness.deliver(&inbox, "Your code").await;
    let page = format!("{project}/inboxes/{inbox}");
    let undo = deletion(
        &own.post(&format!("{page}/messages/{code}/delete"), &[])
            .await,
    );
    harness.deliver(&inbox, "Welcome").await;
    let path = format!("/v1/inboxes/{inbox}/messages/wait?subject=code&timeout=120000");
    let mut waits: Vec<_> = (0..5).map(|_| harness.spawn_get(&path)).collect();
    // When one of five is refused, the other four are open.
    let (refused, place, _) = within(futures_util::future::select_all(waits.iter_mut())).await;
    assert_eq!(refused.unwrap().status, 429);
    drop(waits.remove(place));
    harness.deliver(&inbox, "Bye").await;
    own.post(&format!("{project}/undo"), &[("deletion", &undo)])
        .await;
    for wait in waits {
        assert_eq!(within(wait).await.unwrap().text("id"), code);
    }
}

#[testkit::each_engine]
async fn deleted_inboxes_can_be_restored(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let one = harness.create_inbox().await;
    let two = harness.create_inbox().await;
    let kept = harness.create_inbox().await;
    harness.deliver(&one, "Hello").await;
    let project = own.project_path().await;
    let chosen = [
        ("inbox", one.as_str()),
        ("inbox", two.as_str()),
        ("inbox", "unknown"),
        ("inbox", one.as_str()),
    ];
    let undo = deletion(
        &own.post(&format!("{project}/delete-inboxes"), &chosen)
            .await,
    );
    let status = async |inbox: &str| harness.get(&format!("/v1/inboxes/{inbox}")).await.status;
    assert_eq!(
        (status(&one).await, status(&two).await, status(&kept).await),
        (404, 404, 200)
    );
    // One of the addresses is used again meanwhile: it stays as it is.
    harness.deliver(&two, "New").await;
    assert_eq!(
        own.post(&format!("{project}/undo"), &[("deletion", &undo)])
            .await
            .status,
        303
    );
    assert_eq!(subjects(&harness, &one).await, ["Hello"]);
    assert_eq!(subjects(&harness, &two).await, ["New"]);
    assert_eq!(count(&harness).await, 2);
}

#[tokio::test]
async fn an_inbox_is_selected_by_its_id_and_not_by_its_path() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let form = [("kind", "permanent"), ("name", "ada+1")];
    assert_eq!(
        own.post(&format!("{project}/inboxes"), &form).await.status,
        303
    );
    harness.deliver("o!hara", "Hello").await;
    let page = own.get(&format!("{project}/inboxes")).await.body;
    let values = page.split("name=\"inbox\" value=\"").skip(1);
    let chosen: Vec<_> = values
        .map(|rest| ("inbox", rest.split('"').next().unwrap()))
        .collect();
    assert_eq!(chosen.len(), 2, "{page}");
    deletion(
        &own.post(&format!("{project}/delete-inboxes"), &chosen)
            .await,
    );
    for segment in ["ada%2B1", "o%21hara"] {
        assert!(
            page.contains(&format!("href=\"{project}/inboxes/{segment}\"")),
            "{page}"
        );
        assert_eq!(
            harness.get(&format!("/v1/inboxes/{segment}")).await.status,
            404,
            "{segment}"
        );
    }
}

#[testkit::each_engine]
async fn a_deletion_does_not_bring_a_later_inbox_back(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let inbox = harness.create_inbox().await;
    harness.deliver(&inbox, "First").await;
    let delete = async || {
        deletion(
            &own.post(&format!("{project}/delete-inboxes"), &[("inbox", &inbox)])
                .await,
        )
    };
    let status = async || harness.get(&format!("/v1/inboxes/{inbox}")).await.status;
    let first = delete().await;
    harness.clock.advance(Duration::from_secs(1));
    harness.deliver(&inbox, "Second").await;
    let second = delete().await;
    own.post(&format!("{project}/undo"), &[("deletion", &first)])
        .await;
    assert_eq!(status().await, 404);
    own.post(&format!("{project}/undo"), &[("deletion", &second)])
        .await;
    assert_eq!(subjects(&harness, &inbox).await, ["Second"]);
}

#[tokio::test]
async fn a_deletion_cannot_be_undone_after_ten_seconds() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    let message = harness.deliver(&inbox, "Gone").await;
    let page = format!("{project}/inboxes/{inbox}");
    let undo = deletion(
        &own.post(&format!("{page}/messages/{message}/delete"), &[])
            .await,
    );
    harness.clock.advance(UNDO_TIME + Duration::from_millis(1));
    assert!(
        !own.get(&format!("{page}?undo={undo}"))
            .await
            .body
            .contains("Deleted.")
    );
    let late = own
        .post(&format!("{project}/undo"), &[("deletion", &undo)])
        .await;
    assert!(
        late.status == 422 && late.body.contains("the ten seconds are over"),
        "{late:?}"
    );
    assert_eq!(subjects(&harness, &inbox).await, [""; 0]);
}

#[tokio::test]
async fn another_project_cannot_undo_a_deletion() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver(&inbox, "Mine").await;
    let page = format!("{}/inboxes/{inbox}", own.project_path().await);
    let undo = deletion(
        &own.post(&format!("{page}/messages/{message}/delete"), &[])
            .await,
    );
    let tried = other
        .post(
            &format!("{}/undo", other.project_path().await),
            &[("deletion", &undo)],
        )
        .await;
    assert_eq!(tried.status, 422);
    assert_eq!(subjects(&harness, &inbox).await, [""; 0]);
}
