//! The search of the dashboard: in all mail, with inboxes and failures, and in an inbox.

use std::time::Duration;

use super::visitor::Visitor;
use testkit::{Engine, Harness};

/// The inboxes and failures that the search of all mail finds by their name.
async fn found(visitor: &Visitor<'_>, search: &str) -> Vec<String> {
    let path = format!("{}/mail?q={search}", visitor.project_path().await);
    let page = visitor.get(&path).await;
    assert_eq!(page.status, 200, "{path}");
    let rows = page.body.split("class=\"row found-row\"").skip(1);
    rows.map(|row| row.split("</li>").next().unwrap().to_owned())
        .collect()
}

#[testkit::each_engine]
async fn a_whole_address_is_the_first_result_and_the_only_inbox(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    for name in ["u5", "u59", "xu5"] {
        harness.deliver(name, &format!("Mail for {name}")).await;
    }
    let rows = found(&own, "u5@restante.example.com").await;
    assert!(
        rows.len() == 1 && rows[0].contains("/inboxes/u5\"") && rows[0].contains("<time "),
        "{rows:?}"
    );
    let rows = found(&own, "u5").await;
    assert!(
        rows.len() == 3 && rows[0].contains("/inboxes/u5\""),
        "{rows:?}"
    );
    let list = format!(
        "{}/mail?q=u5@restante.example.com",
        own.project_path().await
    );
    let list = own.get(&list).await.body;
    assert!(
        list.contains("Mail for u5<") && !list.contains("Mail for u59"),
        "{list}"
    );
}

#[testkit::each_engine]
async fn an_inbox_that_has_ended_is_found_with_its_end(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let quiet = harness.create_inbox().await;
    let failed = harness.create_inbox().await;
    harness.time_out(&failed, "").await;
    for inbox in [&quiet, &failed] {
        let delete = format!("{project}/inboxes/{inbox}/delete");
        assert_eq!(own.post(&delete, &[]).await.status, 303);
    }
    harness.clock.advance(Duration::from_secs(7_200));
    let rows = found(&own, &format!("{quiet}@restante.example.com")).await;
    assert!(
        rows[0].contains(&format!("{project}/inboxes/{quiet}\""))
            && rows[0].contains("deleted · ")
            && rows[0].contains(">2 h ago<"),
        "{rows:?}"
    );
    // The page of the inbox stays, with its timeline.
    let page = own.get(&format!("{project}/inboxes/{quiet}")).await.body;
    assert!(
        page.contains("This inbox was deleted 2 h ago.") && page.contains("The inbox was created."),
        "{page}"
    );
    let is_failure = |row: &String| row.contains("href=\"/failures/") && row.contains(&failed);
    assert!(found(&own, &failed).await.iter().any(is_failure));
    let rows = found(&own, "is:failed").await;
    assert!(rows.len() == 1 && is_failure(&rows[0]), "{rows:?}");

    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    for search in [&*quiet, "is:failed"] {
        assert!(found(&other, search).await.is_empty());
    }
}

#[testkit::each_engine]
async fn results_that_are_not_shown_are_announced(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    for number in 1..=9 {
        harness.deliver(&format!("signup-{number}"), "Hello").await;
        harness
            .time_out(&format!("signup-{number}"), "subject=code")
            .await;
    }
    let page = own.get(&format!("{project}/mail?q=signup")).await.body;
    assert_eq!(page.matches("found-row").count(), 16, "{page}");
    for (list, all) in [
        ("inboxes?q=signup", "signup-1@"),
        ("failures?q=signup", "9 timed out"),
    ] {
        assert!(
            page.contains(&format!("href=\"{project}/{list}\"")),
            "{list}"
        );
        let page = own.get(&format!("{project}/{list}")).await.body;
        assert!(page.contains(all), "{list}: {page}");
    }
}

#[testkit::each_engine]
async fn the_name_of_a_test_finds_its_inbox_its_mail_and_its_failure(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let caller = harness.service.authenticate(harness.key.as_str()).await;
    let label = Some("Checkout › pays with a card");
    let inbox = harness
        .service
        .create_labelled_inbox(&caller.unwrap().unwrap(), label)
        .await
        .unwrap()
        .id;
    harness.deliver(inbox.as_str(), "Receipt").await;
    harness.deliver("other", "Newsletter").await;
    harness.time_out(inbox.as_str(), "subject=missing").await;
    for search in ["pays+with", "test:CHECKOUT"] {
        let rows = found(&own, search).await;
        assert!(
            rows.len() == 2 && rows[1].contains("href=\"/failures/"),
            "{search}: {rows:?}"
        );
        let page = format!("{}/mail?q={search}", own.project_path().await);
        let page = own.get(&page).await.body;
        assert!(
            page.contains(">Receipt<") && !page.contains(">Newsletter<"),
            "{search}: {page}"
        );
    }
}

#[tokio::test]
async fn operators_find_messages_and_mistakes_are_named() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    harness
        .deliver_raw(
            &inbox,
            "From: shop@shop.example\r\nSubject: Order\r\n\r\nYour code: 482913\r\n",
        )
        .await;
    harness
        .deliver_raw(
            &inbox,
            "From: news@news.example\r\nSubject: News\r\n\r\nhttps://shop.example/x\r\n",
        )
        .await;
    let project = own.project_path().await;
    for path in [
        format!("{project}/mail"),
        format!("{project}/inboxes/{inbox}"),
    ] {
        let shown = async |search: &str| {
            let page = own.get(&format!("{path}?q={search}")).await.body;
            ["Order", "News"].map(|subject| page.contains(&format!(">{subject}<")))
        };
        for (search, expected) in [
            ("from:shop@", [true, false]),
            ("shop", [true, true]),
            ("text:shop.example", [false, true]),
            ("subject:%22news%22", [false, true]),
            ("has:code", [true, false]),
            ("has:link", [false, true]),
            ("has:attachment", [false, false]),
            ("code+482913", [true, false]),
            ("after:2001-01-01", [true, true]),
            ("before:2001-01-01", [false, false]),
        ] {
            assert_eq!(shown(search).await, expected, "{path} {search}");
        }
        for (search, problem) in [
            ("has:codes", "has:codes is not known."),
            ("before:soon", "before:soon is not a date."),
            ("to:", "to: needs"),
        ] {
            let page = own.get(&format!("{path}?q={search}")).await.body;
            let is_empty = ["Nothing matches", ">Order<"]
                .iter()
                .any(|text| page.contains(text));
            assert!(
                page.contains(problem) && !is_empty,
                "{path} {search}: {page}"
            );
        }
        assert!(
            own.get(&path).await.body.contains("<code>subject:</code>"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn names_in_the_results_cannot_turn_the_text_around() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let caller = harness
        .service
        .authenticate(harness.key.as_str())
        .await
        .unwrap()
        .unwrap();
    let inbox = harness
        .service
        .create_labelled_inbox(&caller, Some("photo_\u{202e}gnp"))
        .await
        .unwrap()
        .id;
    let mail = "From: \u{202e}a@shop.example\r\nSubject: =?utf-8?q?Sum=E2=80=AEmary?=\r\n\r\nx\r\n";
    harness.deliver_raw(inbox.as_str(), mail).await;
    let page = own
        .get(&format!("{}/mail?q={inbox}", own.project_path().await))
        .await
        .body;
    assert!(
        page.contains("photo_‹U+202E›gnp") && page.contains("Sum‹U+202E›mary"),
        "{page}"
    );
    assert!(!page.contains('\u{202e}'), "{page}");
}

#[tokio::test]
async fn a_text_that_was_searched_only_in_part_is_counted() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let text = format!("first {} last", "word ".repeat(60_000));
    harness
        .deliver_raw(&inbox, &format!("Subject: Long\r\n\r\n{text}\r\n"))
        .await;
    let project = own.project_path().await;
    for path in [
        format!("{project}/mail"),
        format!("{project}/inboxes/{inbox}"),
    ] {
        assert!(
            own.get(&format!("{path}?q=first"))
                .await
                .body
                .contains(">Long<"),
            "{path}"
        );
        let page = own.get(&format!("{path}?q=last")).await.body;
        assert!(
            page.contains("The text of 1 large message was searched only in part."),
            "{path}: {page}"
        );
    }
}
