//! The stories of waits that timed out: the link in the response, the cause, and who may see it.

use std::time::Duration;

use restante::evidence::{Cause, Failure, Story};
use restante::model::WaitEnd;
use restante::service::EntryFilter;
use serde_json::Value;
use uuid::Uuid;

use super::smtp::Smtp;
use testkit::{Answer, BASE_URL, Engine, Harness, MAIL_DOMAIN, within};

const LONG_NAME: &str = "a234567890123456789012345678901234567890123456789012345678901234567890";
const SECOND: Duration = Duration::from_secs(1);
const MAIL: &str = "From: shop@app.example\r\nSubject: Welcome\r\n\r\nHello";

fn address(inbox: &str) -> String {
    format!("{inbox}@{MAIL_DOMAIN}")
}

/// Waits for 15 seconds without success.
async fn time_out(api: &Harness, inbox: &str, query: &str) -> Answer {
    time_out_after(api, inbox, query, 15 * SECOND).await
}

async fn time_out_after(api: &Harness, inbox: &str, query: &str, timeout: Duration) -> Answer {
    let deadline = api.clock.instant().after(timeout);
    let millis = timeout.as_millis();
    let waiting = api.spawn_get(&format!(
        "/v1/inboxes/{inbox}/messages/wait?{query}&timeout={millis}"
    ));
    let answer = api.at_deadline(deadline, waiting).await;
    assert_eq!(answer.error(), (408, "timeout".to_owned()));
    answer
}

/// The id of the story to which a response links.
fn story_id(answer: &Answer) -> Uuid {
    let link = answer.headers["link"].to_str().unwrap();
    let url = link
        .strip_prefix('<')
        .and_then(|link| link.strip_suffix(">; rel=\"help\""))
        .unwrap();
    url.strip_prefix(&format!("{BASE_URL}/failures/"))
        .unwrap()
        .parse()
        .unwrap()
}

async fn story(api: &Harness, answer: &Answer) -> Story {
    api.service
        .story(story_id(answer), None)
        .await
        .unwrap()
        .unwrap()
}

async fn explain(api: &Harness, inbox: &str, query: &str) -> Value {
    api.get(&format!("/v1/inboxes/{inbox}/explain?{query}"))
        .await
        .json()
}

async fn failures(api: &Harness, filter: EntryFilter) -> Vec<Failure> {
    api.service.failures(&filter, 10).await.unwrap()
}

#[testkit::each_engine]
async fn a_timeout_links_to_its_story(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let answer = time_out(&api, &inbox, "subject=Welcome&from=shop&has=otp").await;
    let Story { failure, .. } = story(&api, &answer).await;
    assert_eq!(failure.finding.cause, Cause::NothingConnected);
    let wait = &failure.wait;
    let filter = &wait.filter;
    assert_eq!(
        (
            filter.subject.as_deref(),
            filter.from.as_deref(),
            filter.has.otp
        ),
        (Some("Welcome"), Some("shop"), true)
    );
    assert!(
        failure.ended_at().since(wait.started_at) >= 15 * SECOND,
        "{failure:?}"
    );
    assert_eq!(failures(&api, EntryFilter::default()).await, [failure]);

    let at_once = api
        .get(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=0"))
        .await;
    assert_eq!((at_once.status, at_once.headers.get("link")), (404, None));
    let explained = explain(&api, &inbox, "").await;
    assert_eq!(explained["cause"], "nothing_connected");
}

#[testkit::each_engine]
async fn the_cause_stays_as_it_was_when_the_wait_ended(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let answer = time_out(&api, &inbox, "subject=Code").await;
    api.clock.advance(SECOND);
    // Mail that arrives after the wait, for another address and with another subject.
    assert!(
        smtp.send(&address("somebody"), MAIL)
            .await
            .starts_with("250")
    );
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    assert!(
        smtp.send(&address(&inbox), "Subject: bare\n\r\n\r\n")
            .await
            .starts_with("550")
    );
    assert_eq!(
        story(&api, &answer).await.failure.finding.cause,
        Cause::NothingConnected
    );
    let explained = explain(&api, &inbox, "subject=Code").await;
    assert_eq!(
        (&explained["cause"], &explained["messages"]["count"]),
        (&"nothing_connected".into(), &0.into())
    );
    assert_eq!(
        explain(&api, &inbox, "subject=Other").await["cause"],
        "filter_missed"
    );

    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    let explained = explain(&api, &inbox, "subject=Code").await;
    assert_eq!(
        (&explained["cause"], &explained["inbox"]),
        (&"nothing_connected".into(), &Value::Null)
    );
    assert_eq!(explain(&api, &inbox, "").await["cause"], "inbox_deleted");
    assert_eq!(
        story(&api, &answer).await.failure.finding.cause,
        Cause::NothingConnected
    );
}

#[testkit::each_engine]
async fn a_message_just_after_the_wait_was_late(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let answer = time_out_after(
        &api,
        &inbox,
        "subject=welcome",
        Duration::from_millis(14_999),
    )
    .await;
    let early = story(&api, &answer).await;
    api.clock.advance(14 * SECOND);
    api.deliver(&inbox, "Something else").await;
    assert_eq!(story(&api, &answer).await, early);
    api.clock.advance(SECOND);
    api.deliver(&inbox, "Welcome").await;
    let Story {
        failure, evidence, ..
    } = story(&api, &answer).await;
    assert_eq!(
        (failure.finding.cause, evidence.latest[0].subject.as_str()),
        (Cause::Late, "Welcome")
    );
    assert_eq!((evidence.messages, evidence.latest.len()), (1, 1));
    assert!(evidence.smtp.last_message_at > Some(failure.ended_at()));
    let explained = explain(&api, &inbox, "subject=welcome").await;
    let summary = explained["summary"].as_str().unwrap();
    let beginning = "A matching message arrived 15 s after the wait had ended: \"Welcome\" from ";
    assert!(summary.starts_with(beginning), "{summary}");
    assert!(
        summary.contains("Use a timeout of ") && summary.contains(" s instead of 15 s: "),
        "{summary}"
    );
    assert_eq!(failures(&api, EntryFilter::default()).await, [failure]);

    // Further mail changes nothing.
    api.deliver(&inbox, "Welcome again").await;
    let later = story(&api, &answer).await;
    assert_eq!(
        (
            later.evidence.latest.len(),
            &later.evidence.latest[0].subject
        ),
        (1, &"Welcome".to_owned())
    );
}

#[testkit::each_engine]
async fn an_entry_that_cannot_be_read_harms_no_list(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    time_out(&api, &inbox, "subject=welcome").await;
    assert_eq!(failures(&api, EntryFilter::default()).await.len(), 1);
    api.run_sql("UPDATE journal SET data = (SELECT id FROM projects LIMIT 1)")
        .await;
    // It would be compared with the filters of the wait.
    api.deliver(&inbox, "Welcome").await;
    assert_eq!(failures(&api, EntryFilter::default()).await, []);
    let other = api.create_inbox().await;
    let answer = time_out(&api, &other, "").await;
    let whole = story(&api, &answer).await;
    assert_eq!(
        failures(&api, EntryFilter::default()).await,
        [whole.failure]
    );
}

#[testkit::each_engine]
async fn mail_long_after_the_wait_was_not_late(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let answer = time_out(&api, &inbox, "").await;
    api.clock.advance(130 * SECOND);
    api.deliver(&inbox, "The mail of the next step").await;
    assert_eq!(
        story(&api, &answer).await.failure.finding.cause,
        Cause::NothingConnected
    );
}

#[testkit::each_engine]
async fn failures_of_the_same_cause_are_one_group(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    // Numbers do not make a group, neither in the filter nor in the subject that arrived.
    for (query, arrived) in [
        ("subject=order+11", "Your order 12 of 4f0c-99"),
        ("subject=order+13", "Your order 14 of 5a1b-00"),
        ("subject=order+15", "Welcome"),
    ] {
        let inbox = api.create_inbox().await;
        api.deliver(&inbox, arrived).await;
        time_out(&api, &inbox, query).await;
    }
    let refused = api.create_inbox().await;
    assert!(
        smtp.send(&address(&refused), "Subject: bare\n\r\n\r\n")
            .await
            .starts_with("550")
    );
    time_out(&api, &refused, "").await;
    let project = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let all = failures(
        &api,
        EntryFilter {
            project: Some(project),
            ..EntryFilter::default()
        },
    )
    .await;
    let causes: Vec<_> = all.iter().map(|failure| failure.finding.cause).collect();
    assert_eq!(
        causes,
        [
            Cause::BareLineEnd,
            Cause::FilterMissed,
            Cause::FilterMissed,
            Cause::FilterMissed
        ]
    );
    assert_eq!(
        (
            all[2].finding.group() == all[3].finding.group(),
            all[1].finding.group() == all[2].finding.group()
        ),
        (true, false)
    );
    let chosen = |filter: EntryFilter| failures(&api, filter);
    let by_cause = EntryFilter {
        word: Cause::BareLineEnd.as_str().to_owned(),
        ..EntryFilter::default()
    };
    assert_eq!(chosen(by_cause).await, all[..1]);
    let by_address = EntryFilter {
        text: all[1].wait.inbox.to_string(),
        ..EntryFilter::default()
    };
    assert_eq!(chosen(by_address).await, all[1..2]);
    let since = EntryFilter {
        since: Some(all[1].ended_at()),
        ..EntryFilter::default()
    };
    assert_eq!(chosen(since).await, all[..2]);
    let before = EntryFilter {
        before: Some(all[1].ended_at()),
        ..EntryFilter::default()
    };
    assert_eq!(chosen(before).await, all[2..]);
}

#[testkit::each_engine]
async fn no_project_sees_the_failures_of_another(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox_with(&api.other_key).await;
    let answer = api.time_out_with(&api.other_key, &inbox, "").await;
    let theirs = story(&api, &answer).await.failure.wait.project;
    let own = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    assert_ne!(own, theirs);
    assert!(
        failures(
            &api,
            EntryFilter {
                project: Some(own),
                ..EntryFilter::default()
            }
        )
        .await
        .is_empty()
    );
    assert_eq!(
        failures(
            &api,
            EntryFilter {
                project: Some(theirs),
                ..EntryFilter::default()
            }
        )
        .await
        .len(),
        1
    );
}

#[testkit::each_engine]
async fn a_login_of_another_client_is_not_the_cause(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox_with(&api.other_key).await;
    // The application of another project sends mail; somebody else fails to log in.
    let others = api.create_inbox().await;
    assert!(smtp.send(&address(&others), MAIL).await.starts_with("250"));
    let mut stranger = smtp.client().await;
    assert!(
        api.refused(stranger.say("AUTH PLAIN AHgAcnN0X2xpdmVfeA=="))
            .await
            .starts_with("535")
    );
    assert!(stranger.say("QUIT").await.starts_with("221"));
    let explained = api
        .call_with(
            &api.other_key,
            "GET",
            &format!("/v1/inboxes/{inbox}/explain"),
            "",
        )
        .await
        .json();
    assert_eq!(explained["cause"], "sent_elsewhere", "{explained}");

    // The same client has sent mail to the project, so it is its application.
    let received = api.create_inbox_with(&api.other_key).await;
    assert!(
        smtp.send(&address(&received), MAIL)
            .await
            .starts_with("250")
    );
    let later = api.create_inbox_with(&api.other_key).await;
    let explain = |inbox: String| {
        let api = &api;
        let path = format!("/v1/inboxes/{inbox}/explain");
        async move { api.call_with(&api.other_key, "GET", &path, "").await.json() }
    };
    assert_eq!(explain(later).await["cause"], "login_failed");
}

#[testkit::each_engine]
async fn a_story_is_kept_for_a_week(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let answer = time_out(&api, &inbox, "").await;
    api.clock.advance(6 * 24 * 3_600 * SECOND);
    assert_eq!(
        story(&api, &answer).await.failure.finding.cause,
        Cause::NothingConnected
    );
    api.clock.advance((24 * 3_600 + 1) * SECOND);
    assert_eq!(
        api.service.story(story_id(&answer), None).await.unwrap(),
        None
    );
    assert_eq!(explain(&api, &inbox, "").await["cause"], "inbox_expired");
}

#[testkit::each_engine]
async fn each_filter_has_the_story_of_its_latest_wait(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    time_out(&api, &inbox, "subject=Code").await;
    time_out(&api, &inbox, "subject=Receipt").await;
    api.clock.advance(SECOND);
    api.deliver(&inbox, "Welcome").await;
    assert_eq!(
        explain(&api, &inbox, "subject=Code").await["cause"],
        "nothing_connected"
    );
    assert_eq!(
        explain(&api, &inbox, "subject=Receipt").await["cause"],
        "nothing_connected"
    );
    assert_eq!(
        explain(&api, &inbox, "subject=Other").await["cause"],
        "filter_missed"
    );
}

#[testkit::each_engine]
async fn mail_of_a_stranger_to_another_domain_is_not_the_cause(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let first = api.create_inbox().await;
    let elsewhere = "somebody@else.example";
    assert!(smtp.send(elsewhere, MAIL).await.starts_with("550"));
    let explained = explain(&api, &first, "").await;
    // Nobody knows whether this is the application.
    assert_eq!(explained["cause"], "sent_elsewhere");
    assert!(
        !explained["summary"]
            .as_str()
            .unwrap()
            .contains("--accept-domains"),
        "{explained}"
    );

    // Now the client is known to be.
    assert!(smtp.send(&address(&first), MAIL).await.starts_with("250"));
    let own = api.create_inbox().await;
    api.clock.advance(SECOND);
    assert!(smtp.send(elsewhere, MAIL).await.starts_with("550"));
    assert_eq!(explain(&api, &own, "").await["cause"], "other_domain");
    // If only another client is known, strangers explain nothing.
    api.run_sql("UPDATE contents SET client = '192.0.2.1'")
        .await;
    let explained = explain(&api, &own, "").await;
    assert_eq!(explained["cause"], "sent_elsewhere");
    assert!(
        !explained["summary"]
            .as_str()
            .unwrap()
            .contains("else.example"),
        "{explained}"
    );
}

/// The first event of this kind, as soon as it is recorded.
async fn event(api: &Harness, inbox: &str, kind: &str) -> Value {
    let path = format!("/v1/inboxes/{inbox}/events");
    let recorded = async {
        loop {
            let mut events = api.get(&path).await.json();
            let events = std::mem::take(events["events"].as_array_mut().unwrap());
            if let Some(found) = events.into_iter().find(|event| event["kind"] == kind) {
                return found;
            }
        }
    };
    within(recorded).await
}

/// A client that compares itself asks on after each message that it refuses. A message before its
/// wait was not compared.
#[testkit::each_engine]
async fn what_only_the_client_compares_is_the_cause_of_its_wait(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let earlier = api.deliver(&inbox, "Sign in").await;
    let filters = ("x-restante-filters", "subject%20%2Fconfirm%2Fi");
    let first_query = format!("from=shop&after={earlier}");
    let query = first_query.as_str();
    let cause = async |answer: &Answer| {
        assert_eq!(answer.error(), (408, "timeout".to_owned()));
        let story = story(&api, answer).await;
        let filter = &story.failure.wait.filter;
        assert_eq!(filter.client.as_deref(), Some("subject /confirm/i"));
        let finding = story.failure.finding;
        (finding.cause, finding.sentence.to_string())
    };
    let said = [filters, ("x-restante-wait", "1")];
    let nothing = api.time_out_saying(&said, &inbox, query).await;
    assert_eq!(cause(&nothing).await.0, Cause::NothingNew);

    let refused = api.deliver(&inbox, "Welcome").await;
    let said = [filters, ("x-restante-wait", "2")];
    let given = api.time_out_saying(&said, &inbox, query).await;
    assert_eq!(given.text("id"), refused);
    let query = format!("from=shop&after={refused}");
    let answer = api.time_out_saying(&said, &inbox, &query).await;
    let (found, text) = cause(&answer).await;
    let whole = story(&api, &answer).await.failure.wait;
    assert_eq!(whole.filter.after, Some(earlier.clone()));
    assert_eq!(found, Cause::FilterMissed, "{text}");
    assert!(
        text.contains("subject /confirm/i") && text.contains("Welcome"),
        "{text}"
    );
    let started = event(&api, &inbox, "wait_started").await;
    assert_eq!(
        started["filters"]["client"], "subject /confirm/i",
        "{started}"
    );
    // The two requests of the second wait are one in the timeline.
    let timeline = api.get(&format!("/v1/inboxes/{inbox}/events")).await.json();
    let events = timeline["events"].as_array().unwrap().iter();
    let ended = events.filter(|event| event["kind"] == "wait_ended");
    let outcomes: Vec<_> = ended
        .map(|event| event["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["timeout", "timeout"]);
    // Who asks from where that wait began gets its cause.
    let explained = explain(&api, &inbox, &format!("from=shop&after={earlier}")).await;
    let report = explained["report"].as_str().unwrap();
    assert!(
        explained["cause"] == "filter_missed" && report.contains("not: the client's own filter"),
        "{explained}"
    );
    // A wait that began later did not compare it.
    let other = [filters, ("x-restante-wait", "3")];
    let answer = api.time_out_saying(&other, &inbox, &query).await;
    assert_eq!(cause(&answer).await.0, Cause::NothingNew);
}

/// The requests of a wait are one failure, decided at the end of the last one.
#[testkit::each_engine]
async fn the_requests_of_a_wait_are_one_failure(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let started_at = api.clock.now();
    let said = [("x-restante-wait", "a-1")];
    let first = api.time_out_saying(&said, &inbox, "subject=Code").await;
    assert_eq!(
        story(&api, &first).await.failure.finding.cause,
        Cause::NothingConnected
    );
    api.deliver(&inbox, "Welcome").await;
    api.clock.advance(SECOND);
    let last = api.time_out_saying(&said, &inbox, "subject=Code").await;
    assert_eq!(story_id(&first), story_id(&last));
    let failed = failures(&api, EntryFilter::default()).await;
    let [Failure { wait, finding, .. }] = &failed[..] else {
        panic!("{failed:?}");
    };
    assert_eq!(finding.cause, Cause::FilterMissed);
    assert_eq!(wait.started_at, started_at);
    assert_eq!(wait.timeout, api.clock.now().since(started_at));
    assert_eq!(wait.end, Some((api.clock.now(), WaitEnd::Timeout)));
    let timeline = api.get(&format!("/v1/inboxes/{inbox}/events")).await;
    assert_eq!(timeline.body.matches("wait_started").count(), 1);

    // Who asks with the name gets the story, even with another filter.
    let asked = format!("/v1/inboxes/{inbox}/explain?subject=Other");
    let explained = api.get_saying(&said, &asked).await.json();
    assert_eq!(explained["cause"], "filter_missed");
    let report = explained["report"].as_str().unwrap();
    assert!(report.contains("Expected subject \"Code\""), "{report}");

    // Another inbox with the same name is another wait, and so is that of another project.
    let other = api.create_inbox().await;
    let answer = api.time_out_saying(&said, &other, "").await;
    assert_ne!(story_id(&answer), story_id(&last));
    assert_eq!(failures(&api, EntryFilter::default()).await.len(), 2);
}

#[testkit::each_engine]
async fn a_wait_that_goes_on_is_no_failure(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let said = [("x-restante-wait", "a-1")];
    let first = api.time_out_saying(&said, &inbox, "subject=Code").await;
    assert_eq!(failures(&api, EntryFilter::default()).await.len(), 1);
    api.deliver(&inbox, "Code").await;
    let found = api.time_out_saying(&said, &inbox, "subject=Code").await;
    assert_eq!(found.text("subject"), "Code");
    assert_eq!(failures(&api, EntryFilter::default()).await, []);
    let gone = api.service.story(story_id(&first), None).await.unwrap();
    assert_eq!(gone, None);
}

/// All clients do so with a message that another wait of theirs has returned.
#[testkit::each_engine]
async fn a_message_that_a_wait_without_filters_went_past_is_no_match(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver(&inbox, "Code").await;
    let said = [("x-restante-wait", "a-1")];
    let found = api.time_out_saying(&said, &inbox, "").await;
    let after = format!("after={}", found.text("id"));
    let last = api.time_out_saying(&said, &inbox, &after).await;
    assert_eq!(last.error(), (408, "timeout".to_owned()));
    let failed = failures(&api, EntryFilter::default()).await;
    assert_eq!(failed[0].finding.cause, Cause::NothingNew);
}

/// A client whose time is over looks once more.
#[testkit::each_engine]
async fn a_wait_with_a_name_that_ends_with_one_look_has_a_story(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver(&inbox, "Code").await;
    let said = [("x-restante-wait", "a-1"), ("x-restante-filters", "otp")];
    let look = |query: String| format!("/v1/inboxes/{inbox}/messages/wait?{query}&timeout=0");
    let missed = api.get_saying(&said, &look("subject=x".to_owned())).await;
    assert_eq!(missed.error(), (404, "no matching message".to_owned()));
    assert_eq!(failures(&api, EntryFilter::default()).await, []);
    let found = api.time_out_saying(&said, &inbox, "").await;
    api.clock.advance(SECOND);
    let last = look(format!("after={}", found.text("id")));
    assert_eq!(api.get_saying(&said, &last).await.status, 404);
    let failed = failures(&api, EntryFilter::default()).await;
    assert_eq!(failed.len(), 1, "{failed:?}");
}

/// The next request of a wait changes its timeout.
#[testkit::each_engine]
async fn the_start_of_a_wait_comes_once_to_a_reader_of_the_timeline(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver(&inbox, "Code").await;
    let said = [("x-restante-wait", "a-1")];
    let found = api.time_out_saying(&said, &inbox, "").await;
    let events = format!("/v1/inboxes/{inbox}/events");
    let first = api.get(&events).await;
    assert!(first.body.contains("wait_started"), "{}", first.body);
    let after = format!("after={}", found.text("id"));
    api.time_out_saying(&said, &inbox, &after).await;
    let path = format!("{events}?after={}", first.text("next"));
    let second = api.get(&path).await;
    assert!(second.body.contains("\"timeout\""), "{}", second.body);
    assert!(!second.body.contains("wait_started"), "{}", second.body);
}

#[testkit::each_engine]
async fn the_name_of_a_wait_is_short_and_visible(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for part in ["messages/wait?timeout=0", "explain"] {
        for name in ["", "a%20b c", LONG_NAME] {
            let path = format!("/v1/inboxes/{inbox}/{part}");
            let answer = api.get_saying(&[("x-restante-wait", name)], &path).await;
            assert_eq!(answer.error(), (400, "invalid x-restante-wait".to_owned()));
        }
    }
}

#[testkit::each_engine]
async fn a_wait_that_stays_empty_as_expected_is_no_failure(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let nothing = [("x-restante-expects", "none")];
    let answer = api.time_out_saying(&nothing, &inbox, "").await;
    assert_eq!(answer.error(), (408, "timeout".to_owned()));
    assert!(!answer.headers.contains_key("link"), "{answer:?}");
    assert_eq!(failures(&api, EntryFilter::default()).await, []);
    let ended = event(&api, &inbox, "wait_ended").await;
    assert_eq!(
        (&ended["outcome"], &ended["text"]),
        (&"empty".into(), &"No message arrived, as expected.".into())
    );
    // The same wait without the header fails.
    time_out(&api, &inbox, "").await;
    assert_eq!(failures(&api, EntryFilter::default()).await.len(), 1);
    // A message that comes is the failure, unless the client compares it, too.
    let other = api.create_inbox().await;
    api.deliver(&other, "Welcome").await;
    let filters = ("x-restante-filters", "subject%20%2Fconfirm%2Fi");
    for (said, known) in [(vec![nothing[0], filters], 1), (nothing.into(), 2)] {
        let answer = api.time_out_saying(&said, &other, "").await;
        assert_eq!(answer.text("subject"), "Welcome");
        let failed = failures(&api, EntryFilter::default()).await;
        assert_eq!(failed.len(), known);
    }
    let failed = failures(&api, EntryFilter::default()).await;
    assert_eq!(failed[0].finding.cause, Cause::Unexpected);
    let sentence = failed[0].finding.sentence.to_string();
    assert!(
        sentence.starts_with("No message was expected, but one arrived: "),
        "{sentence}"
    );
    let events = api.get(&format!("/v1/inboxes/{other}/events")).await;
    assert!(
        events.body.contains("although none was expected"),
        "{}",
        events.body
    );
}
