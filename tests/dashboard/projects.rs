//! The administrator's actions on projects and keys.

use super::visitor::Visitor;
use testkit::Harness;

#[tokio::test]
async fn a_project_is_created_renamed_given_a_new_key_and_deleted() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let made = administrator
        .post("/projects", &[("name", "Shop <&> Co")])
        .await;
    let key = shown_key(&made.body);
    assert!(
        made.body.contains("Shop &#60;&#38;&#62; Co"),
        "{}",
        made.body
    );
    assert!(works(&harness, &key).await);

    let project = Visitor::sign_in(&harness, &key).await.project_path().await;
    let renamed = administrator
        .post(&format!("{project}/rename"), &[("name", "Store")])
        .await;
    assert_eq!(renamed.status, 303);
    assert!(
        administrator
            .get(&format!("{project}/settings"))
            .await
            .body
            .contains("<h1>Store</h1>")
    );
    for name in ["", "other", " x", &"n".repeat(101)] {
        let expected = if name == " x" { 303 } else { 422 };
        assert_eq!(
            administrator
                .post(&format!("{project}/rename"), &[("name", name)])
                .await
                .status,
            expected,
            "{name}"
        );
    }

    let overlapping = shown_key(
        &administrator
            .post(&format!("{project}/rotate"), &[("overlap", "day")])
            .await
            .body,
    );
    assert!(works(&harness, &key).await && works(&harness, &overlapping).await);
    let settings = administrator.get(&format!("{project}/settings")).await.body;
    let ends = [&key, &overlapping].map(|key| format!("…{}</code>", &key[key.len() - 4..]));
    for text in [
        &*ends[0],
        &*ends[1],
        ", expires",
        "25.0 MiB",
        testkit::MAIL_DOMAIN,
    ] {
        assert!(settings.contains(text), "{text}: {settings}");
    }
    let last = shown_key(
        &administrator
            .post(&format!("{project}/rotate"), &[])
            .await
            .body,
    );
    assert!(
        !works(&harness, &key).await
            && !works(&harness, &overlapping).await
            && works(&harness, &last).await
    );
    assert!(
        !administrator
            .get(&format!("{project}/settings"))
            .await
            .body
            .contains(&last)
    );

    assert_eq!(
        administrator
            .post(&format!("{project}/delete"), &[("name", "wrong")])
            .await
            .status,
        422
    );
    assert_eq!(
        administrator
            .post(&format!("{project}/delete"), &[("name", "x")])
            .await
            .status,
        303
    );
    assert!(!works(&harness, &last).await);
    assert_eq!(
        administrator
            .get(&format!("{project}/inboxes"))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn the_default_project_is_named_as_such_and_stays() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let list = administrator.get("/projects").await.body;
    assert_eq!(list.matches(">default</span>").count(), 1);
    let project = Visitor::of_default(&harness).await.project_path().await;
    assert!(
        !administrator
            .get(&format!("{project}/settings"))
            .await
            .body
            .contains("Delete this project")
    );
    let refused = administrator
        .post(&format!("{project}/delete"), &[("name", "default")])
        .await;
    assert!(
        refused.status == 422
            && refused
                .body
                .contains("The default project cannot be deleted"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_project_says_what_it_holds() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let project = Visitor::of_default(&harness).await.project_path().await;
    let one = harness.create_inbox().await;
    let two = harness.create_inbox().await;
    for inbox in [&one, &one, &two] {
        harness.deliver(inbox, "Hello").await;
    }
    let facts = administrator.get(&format!("{project}/settings")).await.body;
    assert!(
        facts.contains("<dt>Inboxes</dt><dd>2</dd>")
            && facts.contains("<dt>Messages</dt><dd>3</dd>"),
        "{facts}"
    );
    assert!(!facts.contains("<dt>Size</dt><dd>0 B</dd>"));
}

fn shown_key(page: &str) -> String {
    page.split("<code id=\"key\">")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap()
        .to_owned()
}

async fn works(harness: &Harness, key: &str) -> bool {
    harness.service.authenticate(key).await.unwrap().is_some()
}
