//! Deleting messages and inboxes in the dashboard.

use super::visitor::Visitor;
use testkit::{Engine, Harness};

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

#[testkit::each_engine]
async fn one_message_or_all_of_an_inbox_are_deleted(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let inbox = harness.create_inbox().await;
    let beside = harness.create_inbox().await;
    let page = format!("{}/inboxes/{inbox}", own.project_path().await);
    let first = harness.deliver(&inbox, "First").await;
    harness.deliver(&beside, "Beside").await;
    for count in 2..=230 {
        harness.deliver(&inbox, &format!("Number {count}")).await;
    }
    let delete = format!("{page}/messages/{first}/delete");
    let theirs = format!("{}/inboxes/{inbox}/empty", other.project_path().await);
    assert_eq!(other.post(&theirs, &[]).await.status, 404);
    let deleted = own.post(&delete, &[]).await;
    assert_eq!(
        (
            deleted.status,
            deleted.headers["location"].to_str().unwrap()
        ),
        (303, page.as_str())
    );
    assert_eq!(own.post(&delete, &[]).await.status, 404);
    let path = format!("/v1/inboxes/{inbox}/messages");
    assert_eq!(
        harness.get(&path).await.json()["messages"]
            .as_array()
            .unwrap()
            .len(),
        229
    );
    assert_eq!(own.post(&format!("{page}/empty"), &[]).await.status, 303);
    assert_eq!(subjects(&harness, &inbox).await, [""; 0]);
    assert_eq!(subjects(&harness, &beside).await, ["Beside"]);
    // Their ids remain cursors.
    harness.deliver(&inbox, "Later").await;
    let later = harness
        .get(&format!("{path}/wait?after={first}&timeout=0"))
        .await;
    assert_eq!(later.text("subject"), "Later");
}

#[testkit::each_engine]
async fn selected_inboxes_are_deleted_of_any_kind(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let one = harness.create_inbox().await;
    let kept = harness.create_inbox().await;
    let form = [("kind", "permanent"), ("name", "ada")];
    assert_eq!(
        own.post(&format!("{project}/inboxes"), &form).await.status,
        303
    );
    let chosen = [
        ("inbox", one.as_str()),
        ("inbox", "ada"),
        ("inbox", "unknown"),
        ("inbox", one.as_str()),
    ];
    let deleted = own
        .post(&format!("{project}/delete-inboxes"), &chosen)
        .await;
    assert_eq!(deleted.status, 303);
    let status = async |inbox: &str| harness.get(&format!("/v1/inboxes/{inbox}")).await.status;
    assert_eq!(
        (status(&one).await, status("ada").await, status(&kept).await),
        (404, 404, 200)
    );
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
    own.post(&format!("{project}/delete-inboxes"), &chosen)
        .await;
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
