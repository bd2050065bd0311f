//! Inboxes on accepted domains other than the mail domain.

use restante::model::{Refusal, RefusalReason, RefusedMail};

use super::pages::refusal;
use super::visitor::Visitor;
use testkit::{Engine, Harness};

const ADA: &str = "ada@example.com";

#[tokio::test]
async fn a_permanent_inbox_is_made_on_an_accepted_domain() {
    let harness = Harness::accepting(Engine::Sqlite, "example.com,*.shop.test").await;
    let own = Visitor::of_default(&harness).await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    let page = own.get(&inboxes).await.body;
    assert!(
        page.contains("example.com, *.shop.test"),
        "the form names the accepted domains"
    );
    let made = own
        .post(
            &inboxes,
            &[("kind", "permanent"), ("name", "Ada@Example.com")],
        )
        .await;
    assert_eq!(made.status, 303);
    let inbox = harness
        .get(&format!("/v1/inboxes?address={ADA}"))
        .await
        .json();
    assert_eq!(
        (&inbox["kind"], &inbox["address"]),
        (&"permanent".into(), &ADA.into())
    );
    let location = made.headers["location"].to_str().unwrap();
    assert_eq!(
        location,
        format!("{inboxes}/{}", inbox["id"].as_str().unwrap())
    );
    // The whole address is shown, in the list, on the page of the inbox and in the search.
    for path in [inboxes.as_str(), location, &format!("{inboxes}?q=ada@exam")] {
        assert!(own.get(path).await.body.contains(ADA), "{path}");
    }
    assert!(
        !own.get(&format!("{inboxes}?q=bob@exam"))
            .await
            .body
            .contains(ADA)
    );
    let again = own
        .post(&inboxes, &[("kind", "permanent"), ("name", ADA)])
        .await;
    assert!(
        again.status == 422 && again.body.contains("This address is taken"),
        "{}",
        again.body
    );
    let other = own
        .post(
            &inboxes,
            &[("kind", "permanent"), ("name", "ada@shop.test")],
        )
        .await;
    assert_eq!(other.status, 422);
    assert!(
        other
            .body
            .contains("start the server with --accept-domains shop.test"),
        "{}",
        other.body
    );
}

#[tokio::test]
async fn refused_mail_for_another_domain_names_the_flag() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let recipient = "<ada@example.com>".to_owned();
    let reason = RefusalReason::Smtp(Refusal::RelayNotPermitted);
    harness.service.record_refusal(
        RefusedMail {
            recipient,
            reason,
            ..refusal()
        },
        None,
    );
    let page = format!("{}/refused", own.project_path().await);
    testkit::within(async {
        while !own
            .get(&page)
            .await
            .body
            .contains("--accept-domains example.com")
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
