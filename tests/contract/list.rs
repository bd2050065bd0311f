//! `GET /v1/inboxes/{id}/messages`: the list, its filters and its extensions.

use restante::model::MessageId;

use testkit::{Answer, Engine, Harness};

/// The subjects of a list, in order.
fn subjects(list: &Answer) -> Vec<String> {
    assert_eq!(list.status, 200, "{list:?}");
    let json = list.json();
    let messages = json["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["subject"].as_str().unwrap().to_owned())
        .collect()
}

async fn inbox_with(api: &Harness, subjects: &[&str]) -> (String, Vec<String>) {
    let inbox = api.create_inbox().await;
    let mut ids = Vec::new();
    for subject in subjects {
        ids.push(api.deliver(&inbox, subject).await);
    }
    (format!("/v1/inboxes/{inbox}/messages"), ids)
}

#[testkit::each_engine]
async fn an_empty_inbox_has_an_empty_list(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, _) = inbox_with(&api, &[]).await;
    let list = api.get(&path).await;
    assert_eq!(
        (list.status, list.body.as_str()),
        (200, r#"{"messages":[]}"#)
    );
}

#[testkit::each_engine]
async fn the_newest_comes_first_with_the_same_fields_as_alone(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, ids) = inbox_with(&api, &["one", "two", "three"]).await;
    let list = api.get(&path).await;
    assert_eq!(subjects(&list), ["three", "two", "one"]);
    let alone = api.get(&format!("/v1/messages/{}", ids[2])).await.json();
    assert_eq!(list.json()["messages"][0], alone);
}

#[testkit::each_engine]
async fn a_subject_is_a_substring_in_any_case(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, _) = inbox_with(
        &api,
        &[
            "Confirm your account",
            "=?utf-8?q?=C3=9CBERWEISUNG?=",
            "100%_sure",
        ],
    )
    .await;
    for (query, expected) in [
        ("subject=CONFIRM", vec!["Confirm your account"]),
        ("subject=your+acc", vec!["Confirm your account"]),
        ("subject=%C3%BCberweisung", vec!["ÜBERWEISUNG"]),
        ("subject=%25_", vec!["100%_sure"]),
        ("subject=_", vec!["100%_sure"]),
        ("subject=confirm&subject=sure", vec!["Confirm your account"]),
        ("subject=nothing", vec![]),
        (
            "subject=",
            vec!["100%_sure", "ÜBERWEISUNG", "Confirm your account"],
        ),
        (
            "unknown=x",
            vec!["100%_sure", "ÜBERWEISUNG", "Confirm your account"],
        ),
    ] {
        assert_eq!(
            subjects(&api.get(&format!("{path}?{query}")).await),
            expected,
            "{query}"
        );
    }
}

#[testkit::each_engine]
async fn after_and_before_are_cursors(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, ids) = inbox_with(&api, &["one", "two", "three"]).await;
    for (query, expected) in [
        (format!("after={}", ids[0]), vec!["three", "two"]),
        (
            format!("after={}", ids[0].to_uppercase()),
            vec!["three", "two"],
        ),
        (format!("after={}", ids[2]), vec![]),
        (format!("after={}&subject=TWO", ids[0]), vec!["two"]),
        ("after=&before=".to_owned(), vec!["three", "two", "one"]),
        (format!("before={}", ids[2]), vec!["two", "one"]),
        (format!("before={}", ids[0]), vec![]),
        (format!("after={}&before={}", ids[0], ids[2]), vec!["two"]),
        ("limit=2".to_owned(), vec!["three", "two"]),
        (format!("limit=1&before={}", ids[2]), vec!["two"]),
        (
            "limit=99999999999999999999999".to_owned(),
            vec!["three", "two", "one"],
        ),
        ("limit=".to_owned(), vec!["three", "two", "one"]),
    ] {
        assert_eq!(
            subjects(&api.get(&format!("{path}?{query}")).await),
            expected,
            "{query}"
        );
    }
}

#[testkit::each_engine]
async fn a_cursor_that_names_no_message_of_the_inbox_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, _) = inbox_with(&api, &["one"]).await;
    let (_, elsewhere) = inbox_with(&api, &["two"]).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let foreign = api.deliver(&theirs, "three").await;
    let unknown = MessageId::generate().to_string();
    for id in ["x", "%ff", "%00", "0", &elsewhere[0], &foreign, &unknown] {
        for name in ["after", "before"] {
            let refused = api.get(&format!("{path}?{name}={id}")).await;
            assert_eq!(
                refused.error(),
                (400, format!("invalid {name}")),
                "{name}={id}"
            );
        }
    }
}

#[testkit::each_engine]
async fn a_limit_is_an_integer_of_at_least_one(engine: Engine) {
    let api = Harness::on(engine).await;
    let (path, _) = inbox_with(&api, &["one"]).await;
    for limit in ["0", "-1", "x", "1.0", "%ff"] {
        let refused = api.get(&format!("{path}?limit={limit}")).await;
        assert_eq!(
            refused.error(),
            (400, "invalid limit".to_owned()),
            "{limit}"
        );
    }
}

#[testkit::each_engine]
async fn a_list_of_many_pages_is_whole(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let body = "0123456789abcde\r\n".repeat(20_000);
    for number in 0..12 {
        api.deliver_raw(&inbox, &format!("Subject: {number}\r\n\r\n{body}"))
            .await;
    }
    let list = api.get(&format!("/v1/inboxes/{inbox}/messages")).await;
    let newest_first: Vec<_> = (0..12).rev().map(|number| number.to_string()).collect();
    assert_eq!(subjects(&list), newest_first);
    assert!(list.body.len() > 12 * 300_000);
}
