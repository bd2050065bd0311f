//! The search of the dashboard: in the palette, in all mail, in an inbox and in the list of
//! inboxes.

use std::time::Duration;

use super::visitor::Visitor;
use testkit::{Engine, Harness};

/// The results of the page `Find`: kind, URL and text of each.
async fn found(visitor: &Visitor<'_>, path: &str) -> Vec<String> {
    let page = visitor.get(path).await;
    assert_eq!(page.status, 200, "{path}");
    let rows = page.body.split("class=\"row found-row\"").skip(1);
    rows.map(|row| row.split("</li>").next().unwrap().to_owned())
        .collect()
}

#[testkit::each_engine]
async fn a_whole_address_is_the_first_result_and_the_only_inbox(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    for name in ["u5", "u59", "xu5"] {
        harness.deliver(name, &format!("Mail for {name}")).await;
    }
    let rows = found(&own, &format!("{project}/find?q=u5@restante.example.com")).await;
    assert!(
        rows[0].contains("/inboxes/u5\"") && rows[0].contains("<time "),
        "{rows:?}"
    );
    let others = |row: &&String| row.contains("u59") || row.contains("xu5");
    assert_eq!(
        (rows.len(), rows.iter().filter(others).count()),
        (2, 0),
        "{rows:?}"
    );
    assert!(
        rows[1].contains("Mail for u5") && rows[1].contains("to u5@restante.example.com"),
        "{rows:?}"
    );

    let rows = found(&own, &format!("{project}/find?q=u5")).await;
    assert!(rows[0].contains("/inboxes/u5\""), "{rows:?}");
    let list = own.get(&format!("{project}/inboxes?q=u5")).await.body;
    let place = |name: &str| list.find(&format!("data-key=\"{name}\"")).unwrap();
    assert!(
        place("u5") < place("xu5") && place("u5") < place("u59"),
        "{list}"
    );
    let list = own
        .get(&format!("{project}/inboxes?q=u5@restante.example.com"))
        .await
        .body;
    assert!(
        list.contains("data-key=\"u5\"") && !list.contains("data-key=\"u59\""),
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
        assert_eq!(
            own.post(&format!("{project}/inboxes/{inbox}/delete"), &[])
                .await
                .status,
            303
        );
    }
    harness.clock.advance(Duration::from_secs(7_200));
    let rows = found(
        &own,
        &format!("{project}/find?q={quiet}@restante.example.com"),
    )
    .await;
    assert!(
        rows[0].contains(&format!("{project}/inboxes/{quiet}/timeline\"")),
        "{rows:?}"
    );
    assert!(
        rows[0].contains("<bdi>deleted</bdi>") && rows[0].contains(">2 h ago<"),
        "{rows:?}"
    );
    let rows = found(&own, &format!("{project}/find?q={failed}")).await;
    assert!(
        rows[0].contains("href=\"/failures/") && rows[0].contains("a wait on it timed out"),
        "{rows:?}"
    );
    let list = own.get(&format!("{project}/inboxes?q={quiet}")).await.body;
    assert!(
        list.contains("Ended in the last 30 days") && list.contains("<bdi>deleted</bdi>"),
        "{list}"
    );

    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let path = other.project_path().await;
    assert!(
        found(&other, &format!("{path}/find?q={quiet}"))
            .await
            .is_empty()
    );
    let rows = found(&own, &format!("{project}/find?q=is:failed")).await;
    assert!(
        rows.len() == 1 && rows[0].contains("href=\"/failures/") && rows[0].contains(&failed),
        "{rows:?}"
    );
    assert!(
        found(&other, &format!("{path}/find?q=is:failed"))
            .await
            .is_empty()
    );
}

#[testkit::each_engine]
async fn results_that_are_not_shown_are_announced(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let administrator = Visitor::administrator(&harness).await;
    let project = own.project_path().await;
    for number in 1..=9 {
        harness.deliver(&format!("signup-{number}"), "Hello").await;
        let more = own
            .get(&format!("{project}/find?q=signup"))
            .await
            .body
            .contains(">All inboxes<");
        assert_eq!(more, number > 8, "{number}");
        harness
            .time_out(&format!("signup-{number}"), "subject=code")
            .await;
    }
    for (search, list, all) in [
        ("signup", "inboxes?q=signup", "signup-1@"),
        ("is:failed+signup", "failures?q=signup", "9 timed out"),
    ] {
        let rows = found(&own, &format!("{project}/find?q={search}")).await;
        let link = format!("href=\"{project}/{list}\"");
        assert!(
            rows[8].contains("only 8 are shown here") && rows[8].contains(&link),
            "{rows:?}"
        );
        let page = own.get(&format!("{project}/{list}")).await.body;
        assert!(page.contains(all), "{list}: {page}");
        let rows = found(&administrator, &format!("/find?q={search}")).await;
        assert!(
            rows[8].contains("only 8 are shown here") && rows[8].contains("href=\"/projects\""),
            "{rows:?}"
        );
    }
}

#[testkit::each_engine]
async fn the_administrator_finds_inboxes_and_messages_of_all_projects(engine: Engine) {
    let harness = Harness::on(engine).await;
    let administrator = Visitor::administrator(&harness).await;
    let own = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let project = own.project_path().await;
    let others = other.project_path().await;
    let mine = harness.create_inbox().await;
    harness.deliver(&mine, "Invoice of mine").await;
    assert_eq!(
        other
            .post(
                &format!("{others}/inboxes"),
                &[("kind", "permanent"), ("name", "theirs")]
            )
            .await
            .status,
        303
    );
    harness.deliver("theirs", "Invoice of theirs").await;
    for path in ["/find".to_owned(), format!("{project}/find")] {
        let rows = found(&administrator, &format!("{path}?q=invoice")).await;
        let of = |subject: &str| rows.iter().find(|row| row.contains(subject)).unwrap();
        assert!(
            of("Invoice of theirs").contains(&format!("href=\"{others}/inboxes/theirs/messages/")),
            "{rows:?}"
        );
        assert!(
            of("Invoice of mine").contains("project default"),
            "{rows:?}"
        );
        let rows = found(
            &administrator,
            &format!("{path}?q=theirs@restante.example.com"),
        )
        .await;
        assert!(
            rows[0].contains(&format!("href=\"{others}/inboxes/theirs\"")),
            "{rows:?}"
        );
        assert!(rows[0].contains("project "), "{rows:?}");
    }
    let rows = found(&own, &format!("{project}/find?q=invoice")).await;
    assert!(
        rows.len() == 1 && rows[0].contains("Invoice of mine") && !rows[0].contains("project "),
        "{rows:?}"
    );
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
        format!("{project}/find"),
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
            let is_empty = ["Nothing matches", "No results", ">Order<"]
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
    let page = own.get(&format!("{project}/mail?q=is:failed")).await.body;
    assert!(
        page.contains(&format!("href=\"{project}/failures\"")),
        "{page}"
    );
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
        .get(&format!("{}/find?q={inbox}", own.project_path().await))
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
        format!("{project}/find"),
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
