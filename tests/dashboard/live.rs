//! Live updates: a browser is notified of changes, including those while it was disconnected, as
//! long as its session is valid.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::pages::refusal;
use super::visitor::Visitor;
use testkit::{Harness, within};

/// An open stream of events.
struct Events(Body);

impl Events {
    async fn open(visitor: &Visitor<'_>, path: &str, last_event_id: Option<&str>) -> Self {
        let mut request = visitor
            .request("GET", path)
            .header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = within(visitor.harness.router.clone().oneshot(request))
            .await
            .unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut events = Self(response.into_body());
        assert_eq!(events.next().await.unwrap(), "retry: 1000\n\n");
        events
    }

    /// The mark of a page, and the stream that continues from it.
    async fn of(visitor: &Visitor<'_>, page: &str) -> (String, Self) {
        let mark = seen(visitor, page).await;
        let stream = attribute(visitor, page, "data-live").await;
        let joint = if stream.contains('?') { '&' } else { '?' };
        let events = Self::open(visitor, &format!("{stream}{joint}seen={mark}"), None).await;
        (mark, events)
    }

    async fn next(&mut self) -> Option<String> {
        let frame = within(self.0.frame()).await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }

    /// The id of the next event, which must report a change.
    async fn changed(&mut self) -> String {
        let event = self.next().await.unwrap();
        event
            .strip_prefix("id: ")
            .and_then(|event| event.strip_suffix("\ndata: changed\n\n"))
            .expect(&event)
            .to_owned()
    }
}

/// The mark of the page, as the page has it.
async fn seen(visitor: &Visitor<'_>, path: &str) -> String {
    attribute(visitor, path, "data-seen").await
}

async fn attribute(visitor: &Visitor<'_>, path: &str, name: &str) -> String {
    let page = visitor.get(path).await.body;
    page.split(&format!("{name}=\""))
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_stream_announces_mail_and_what_was_missed() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let base = format!("{}/inboxes/{inbox}", own.project_path().await);
    let (mark, mut events) = Events::of(&own, &base).await;
    harness.deliver(&inbox, "One").await;
    let first = events.changed().await;
    drop(events);
    // Disconnected, while another message arrives.
    harness.deliver(&inbox, "Two").await;
    let mut events = Events::open(&own, &format!("{base}/events?seen={mark}"), Some(&first)).await;
    let second = events.changed().await;
    assert_ne!(first, second);
    assert_eq!(seen(&own, &base).await, second);
}

#[tokio::test]
async fn the_list_of_inboxes_announces_new_ones_and_mail_in_them() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let (_, mut events) = Events::of(&own, &format!("{}/inboxes", own.project_path().await)).await;
    let inbox = harness.create_inbox().await;
    let created = events.changed().await;
    harness.deliver(&inbox, "Hello").await;
    let mailed = events.changed().await;
    harness
        .call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
        .await;
    let deleted = events.changed().await;
    assert!(created != mailed && mailed != deleted);
}

#[tokio::test]
async fn the_list_of_inboxes_announces_what_failed() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let list = format!("{}/inboxes", own.project_path().await);
    let (mark, mut events) = Events::of(&own, &list).await;
    harness.service.record_refusal(refusal(), None);
    let refused = events.changed().await;
    assert_ne!(mark, refused);
    harness.time_out(&inbox, "").await;
    let page = async {
        loop {
            events.changed().await;
            let page = own.get(&format!("{list}?failed=1")).await.body;
            if page.contains("1 failed") {
                return page;
            }
        }
    };
    let page = within(page).await;
    assert!(
        page.contains(&inbox) && page.contains("With failures"),
        "{page}"
    );
}

#[tokio::test]
async fn other_faults_with_as_many_uses_are_announced() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let faults = format!("/v1/inboxes/{inbox}/faults");
    let put = async |action: &str| {
        let body = format!(r#"{{"faults": [{{"at": "data", "do": "{action}", "times": 2}}]}}"#);
        assert_eq!(harness.call("PUT", &faults, body).await.status, 200);
    };
    put("reject").await;
    let (mark, mut events) = Events::of(
        &own,
        &format!("{}/inboxes/{inbox}", own.project_path().await),
    )
    .await;
    put("defer").await;
    assert_ne!(events.changed().await, mark);
}

#[tokio::test]
async fn outgoing_mail_is_announced() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    let (mark, mut events) = Events::of(&own, &format!("{project}/outgoing")).await;
    own.post(
        &format!("{project}/inboxes/{inbox}/send"),
        &[("to", "a@b.example"), ("subject", "Out")],
    )
    .await;
    assert_ne!(events.changed().await, mark);
}

#[tokio::test]
async fn refused_mail_is_announced() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let administrator = Visitor::administrator(&harness).await;
    let (_, mut of_project) =
        Events::of(&own, &format!("{}/refused", own.project_path().await)).await;
    let (_, mut all) = Events::of(&administrator, "/refused").await;
    harness.service.record_refusal(refusal(), None);
    of_project.changed().await;
    all.changed().await;
}

#[tokio::test]
async fn a_quiet_stream_has_a_heartbeat() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let (_, mut events) = Events::of(&own, &format!("{}/inboxes", own.project_path().await)).await;
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    for _ in 0..2 {
        let frame = events.0.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), ": heartbeat\n\n");
    }
    assert!(
        before.elapsed() <= Duration::from_secs(60),
        "proxies close what is silent for a minute"
    );
}

/// What ends a session.
#[derive(Clone, Copy, Debug)]
enum Revoked {
    KeyRotated,
    ProjectDeleted,
    SignedOut,
    SignedOutEverywhere,
    TokenReplaced,
}

#[tokio::test]
async fn a_stream_ends_at_the_first_event_after_its_session() {
    use Revoked::{KeyRotated, ProjectDeleted, SignedOut, SignedOutEverywhere, TokenReplaced};
    for revoked in [
        KeyRotated,
        ProjectDeleted,
        SignedOut,
        SignedOutEverywhere,
        TokenReplaced,
    ] {
        let harness = Harness::start().await;
        let administrator = Visitor::administrator(&harness).await;
        let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
        let inbox = harness.create_inbox_with(&harness.other_key).await;
        let page = format!("{}/inboxes/{inbox}", other.project_path().await);
        let visitor = if matches!(revoked, TokenReplaced) {
            &administrator
        } else {
            &other
        };
        let (_, mut events) = Events::of(visitor, &page).await;
        let (_, mut bystander) = Events::of(&administrator, &page).await;
        match revoked {
            KeyRotated => {
                harness
                    .service
                    .projects()
                    .rotate_key("other", Duration::ZERO)
                    .await
                    .unwrap();
            }
            ProjectDeleted => harness.service.projects().delete("other").await.unwrap(),
            SignedOut => assert_eq!(other.post("/sign-out", &[]).await.status, 303),
            SignedOutEverywhere => {
                assert_eq!(other.post("/sign-out-everywhere", &[]).await.status, 303);
            }
            TokenReplaced => {
                harness
                    .service
                    .projects()
                    .prepare_admin(Some("another administrator's token"))
                    .await
                    .unwrap();
            }
        }
        // The deletion of a project is also an event.
        if !matches!(revoked, ProjectDeleted) {
            harness.deliver(&inbox, "Late").await;
        }
        assert_eq!(events.next().await, None, "{revoked:?}");
        if !matches!(revoked, TokenReplaced) {
            bystander.changed().await;
        }
    }
}

#[tokio::test]
async fn a_quiet_stream_ends_at_the_first_heartbeat_after_its_session() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let (_, mut events) = Events::of(&own, &format!("{}/inboxes", own.project_path().await)).await;
    harness.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    tokio::time::pause();
    assert!(events.0.frame().await.is_none());
}

#[tokio::test]
async fn a_session_has_at_most_twenty_streams() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let path = format!("{}/events", own.project_path().await);
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(Events::open(&own, &path, None).await);
    }
    let refused = own.get(&path).await;
    assert_eq!(refused.status, 429);
    assert!(
        refused.body.contains("Too many open dashboard pages"),
        "{}",
        refused.body
    );
    // Another session has its own limit, and closing a stream frees its place.
    Events::open(&Visitor::of_default(&harness).await, &path, None).await;
    open.pop();
    Events::open(&own, &path, None).await;
}

#[tokio::test]
async fn the_streams_of_a_page_are_notified_together() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let again = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let page = format!("{}/inboxes/{inbox}", own.project_path().await);
    let mut streams = Vec::new();
    for visitor in [&own, &again].repeat(20) {
        streams.push(Events::of(visitor, &page).await.1);
    }
    for subject in ["One", "Two"] {
        harness.deliver(&inbox, subject).await;
        let marks = futures_util::future::join_all(streams.iter_mut().map(Events::changed)).await;
        assert!(marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
    }
}

#[tokio::test]
async fn streams_end_when_the_service_stops() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let (_, mut events) = Events::of(&own, &format!("{}/inboxes", own.project_path().await)).await;
    harness.service.end_followers();
    assert_eq!(events.next().await, None);
}
