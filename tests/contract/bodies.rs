//! The walls in front of requests: forms and filters have limits, and of a key only so many
//! requests and large jobs run at once.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, Request};
use futures_util::FutureExt;
use futures_util::future::{join_all, select_all};
use futures_util::stream;
use http_body_util::BodyExt;
use restante::jobs::{Holder, Job, Jobs};
use restante::large::SMALL;
use restante::model::ApiKey;
use tokio::time::timeout;
use tower::ServiceExt;

use super::server::{LONG, Server};
use testkit::{Answer, Engine, Harness, request, within};

/// Long enough for a request that does not have to wait.
const A_MOMENT: Duration = Duration::from_millis(200);

/// A sign-in with this form, as a browser sends it.
async fn sign_in(api: &Harness, form: String) -> Answer {
    let request = Request::builder().method("POST").uri("/sign-in");
    let request = request
        .header("host", "localhost")
        .header("origin", "http://localhost");
    api.passing(api.send(request.body(form.into()).unwrap()))
        .await
}

/// A body that never arrives.
fn stalled() -> Body {
    Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>())
}

#[testkit::each_engine]
async fn a_form_of_a_stranger_is_small(engine: Engine) {
    let api = Harness::on(engine).await;
    let secret = |bytes: usize| format!("secret={}", "x".repeat(bytes - 7));
    assert_eq!(sign_in(&api, secret(16 * 1024)).await.status, 401);
    assert_eq!(sign_in(&api, secret(16 * 1024 + 1)).await.status, 413);
    assert_eq!(sign_in(&api, "a=b&".repeat(10)).await.status, 401);
    assert_eq!(sign_in(&api, "a=b&".repeat(11)).await.status, 413);
}

#[testkit::each_engine]
async fn a_subject_filter_has_a_limit(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let messages = format!("/v1/inboxes/{inbox}/messages");
    for path in [
        format!("{messages}?"),
        format!("{messages}/wait?timeout=0&"),
    ] {
        for subject in ["_".repeat(998), "\u{130}".repeat(499), "%25".repeat(998)] {
            let found = api.get(&format!("{path}subject={subject}")).await.status;
            assert!([200, 404].contains(&found), "{found} {subject}");
        }
        for subject in ["_".repeat(999), "_".repeat(25_100), "\u{130}".repeat(500)] {
            let refused = api.get(&format!("{path}subject={subject}")).await;
            assert_eq!(refused.error(), (400, "invalid subject".to_owned()));
        }
    }
}

#[testkit::each_engine]
async fn a_send_takes_its_place_before_its_body_is_read(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let send = format!("/v1/inboxes/{inbox}/messages");
    let stalled_send = || Box::pin(async { api.call("POST", &send, stalled()).await });
    // A key has eight slots: of nine sends whose bodies never arrive, one is refused, so the others
    // have slots.
    let (refused, _, sends) = within(select_all((0..9).map(|_| stalled_send()))).await;
    assert_eq!(
        refused.error(),
        (429, "too many concurrent sends".to_owned())
    );
    assert_eq!(api.call("POST", &send, "x").await.status, 429);
    let other = api.create_inbox_with(&api.other_key).await;
    let theirs = api
        .call_with(
            &api.other_key,
            "POST",
            &format!("/v1/inboxes/{other}/messages"),
            "x",
        )
        .await;
    assert_eq!(theirs.error(), (400, "invalid JSON".to_owned()));
    drop(sends);
    assert_eq!(
        api.call("POST", &send, "x").await.error(),
        (400, "invalid JSON".to_owned())
    );
    assert!(api.service.jobs().are_idle());
}

/// A message of 1.6 MB.
fn large() -> String {
    let text = "0123456789abcde\r\n".repeat(100_000);
    format!("Subject: large\r\n\r\n{text}")
}

/// The key of the harness as the holder of its jobs.
async fn holder(api: &Harness) -> Holder {
    let caller = api.service.authenticate(api.key.as_str()).await.unwrap();
    caller.unwrap().key.0
}

/// Two large jobs, as many as a key may have.
async fn two_large(jobs: &Jobs, holder: Holder) -> [Job; 2] {
    let mut large = [jobs.job(holder), jobs.job(holder)];
    for job in &mut large {
        job.take_place(2 * SMALL).await.unwrap();
    }
    large
}

#[testkit::each_engine]
async fn past_two_large_jobs_a_key_waits_and_then_gets_a_503(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let both = two_large(api.service.jobs(), holder(&api).await).await;
    // Small bodies, small messages and lists are still served.
    let small = api.deliver(&inbox, "Hello").await;
    assert_eq!(api.call("POST", "/v1/inboxes", "{}").await.status, 201);
    let large = api.deliver_raw(&inbox, &large()).await;
    let messages = format!("/v1/inboxes/{inbox}/messages");
    for path in [format!("/v1/messages/{small}"), messages.clone()] {
        assert_eq!(api.get(&path).await.status, 200);
    }
    let message = |form: &str| format!("/v1/messages/{large}{form}");
    let paths = [
        message(""),
        message("/raw"),
        message("/page"),
        message("/details"),
        format!("{messages}/wait?subject=large"),
    ];
    // All wait at the same time, in real time: a paused clock would let a query of PostgreSQL time
    // out.
    let refused = within(join_all(paths.iter().map(|path| api.get(path)))).await;
    for answer in refused {
        assert_eq!(answer.error(), (503, "service is busy".to_owned()));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    drop(both);
    for path in &paths {
        assert_eq!(api.get(path).await.status, 200);
    }
    assert!(api.service.jobs().are_idle());
}

#[testkit::each_engine]
async fn a_key_with_two_large_jobs_delays_no_other_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let _both = two_large(api.service.jobs(), holder(&api).await).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let id = api.deliver_raw(&theirs, &large()).await;
    let send = format!(
        "{{\"to\":\"{theirs}@restante.example.com\",\"subject\":\"s\",\"text\":{:?}}}",
        "0123456789abcde\r\n".repeat(100_000)
    );
    let messages = format!("/v1/inboxes/{theirs}/messages");
    for form in ["", "/raw", "/page", "/details"] {
        let path = format!("/v1/messages/{id}{form}");
        let read = within(api.call_with(&api.other_key, "GET", &path, Body::empty())).await;
        assert_eq!(read.status, 200, "{path}");
    }
    let listed = within(api.call_with(&api.other_key, "GET", &messages, Body::empty())).await;
    assert_eq!(listed.status, 200);
    let sent = within(api.call_with(&api.other_key, "POST", &messages, send)).await;
    assert_eq!(sent.status, 202);
}

#[testkit::each_engine]
async fn requests_of_a_key_are_queued_and_those_of_another_are_not(engine: Engine) {
    let api = Harness::on(engine).await;
    let jobs = api.service.jobs();
    let holder = holder(&api).await;
    // 64, and as many as it may have waits.
    let running = join_all((0..68).map(|_| jobs.request(holder))).await;
    let mut queued = Box::pin(api.call("POST", "/v1/inboxes", "{}"));
    assert!(queued.as_mut().now_or_never().is_none());
    within(api.create_inbox_with(&api.other_key)).await;
    drop(running);
    assert_eq!(within(queued).await.status, 201);
    assert!(jobs.are_idle());
}

/// Downloads of 24 clients that read only the beginning.
#[testkit::each_engine]
async fn of_slow_downloads_of_a_key_two_run_and_take_no_place_of_another(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let image = format!(
        "Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n{}",
        ("QUJD".repeat(18) + "\r\n").repeat(8 * 1024 * 1024 / 74)
    );
    let id = api.deliver_raw(&inbox, &image).await;
    let jobs = api.service.jobs();
    let get = |path: &str| {
        let request = request(&api.key, "GET", path, Body::empty());
        Box::pin(api.router.clone().oneshot(request))
    };
    for form in ["/raw", "/attachments/0"] {
        let path = format!("/v1/messages/{id}{form}");
        let mut slow = Vec::new();
        for _ in 0..2 {
            let mut body = within(get(&path)).await.unwrap().into_body();
            let piece = within(body.frame()).await.unwrap().unwrap();
            slow.push((piece, body));
        }
        let mut queued: Vec<_> = (0..22).map(|_| get(&path)).collect();
        for download in &mut queued {
            assert!(download.as_mut().now_or_never().is_none());
        }
        // All places of the process are free: two keys with two large jobs each find one.
        let others = join_all([[1; 32], [2; 32]].map(|other| two_large(jobs, other)));
        assert_eq!(within(others).await.len(), 2);
        drop((slow, queued));
        within(async {
            while !jobs.are_idle() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// How many large jobs of a key may start now.
fn large_left(jobs: &Jobs, holder: Holder) -> usize {
    let mut own = [jobs.job(holder), jobs.job(holder)];
    let started = own.each_mut().map(|job| job.be_large().now_or_never());
    started.into_iter().flatten().count()
}

#[testkit::each_engine]
async fn an_answer_is_one_of_the_large_ones_until_it_is_sent(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver_raw(&inbox, &large()).await;
    let jobs = api.service.jobs();
    let holder = holder(&api).await;
    // A list of more than one page.
    let full = api.create_inbox().await;
    for _ in 0..65 {
        api.deliver(&full, "Hello").await;
    }
    for path in [
        format!("/v1/messages/{id}"),
        format!("/v1/messages/{id}/raw"),
        format!("/v1/inboxes/{full}/messages"),
    ] {
        let response = api
            .router
            .clone()
            .oneshot(request(&api.key, "GET", &path, Body::empty()))
            .await
            .unwrap();
        let mut body = response.into_body();
        while let Some(piece) = within(body.frame()).await {
            piece.unwrap();
        }
        assert_eq!(large_left(jobs, holder), 1, "{path}");
        drop(body);
        assert_eq!(large_left(jobs, holder), 2, "{path}");
        assert!(api.service.jobs().are_idle(), "{path}");
    }
}

#[testkit::each_engine]
async fn one_scan_of_a_project_runs_at_once(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver(&inbox, "Hello").await;
    let caller = api.service.authenticate(api.key.as_str()).await.unwrap();
    let project = caller.unwrap().project;
    let jobs = api.service.jobs();
    let scan = jobs.scan(project.0).await.unwrap();
    let mut search = Box::pin(api.get("/v1/project/messages?search=hello"));
    assert!(timeout(A_MOMENT, search.as_mut()).await.is_err());
    // A wait is not held by it. With many messages to compare, it is held by another such wait of
    // its project, and not by one of another project.
    let backlog = jobs.backlog(project.0).await.unwrap();
    let wait = |subject| format!("/v1/inboxes/{inbox}/messages/wait?subject={subject}&timeout=0");
    assert_eq!(within(api.get(&wait("hello"))).await.status, 200);
    assert_eq!(within(api.get(&wait("none"))).await.status, 404);
    for _ in 0..10 {
        api.deliver(&inbox, "Another").await;
    }
    let theirs = api.create_inbox_with(&api.other_key).await;
    for _ in 0..10 {
        api.deliver(&theirs, "Another").await;
    }
    let path = format!("/v1/inboxes/{theirs}/messages/wait?subject=none&timeout=0");
    let other = api.call_with(&api.other_key, "GET", &path, Body::empty());
    assert_eq!(within(other).await.status, 404);
    let path = wait("none");
    let mut wait = Box::pin(api.get(&path));
    assert!(timeout(A_MOMENT, wait.as_mut()).await.is_err());
    drop(backlog);
    assert_eq!(within(wait).await.status, 404);
    drop(scan);
    assert_eq!(within(search).await.status, 200);
    assert!(jobs.are_idle());
}

#[testkit::each_engine]
async fn a_list_of_large_messages_is_sent_in_pieces(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    for _ in 0..8 {
        server.api.deliver_raw(&inbox, &large()).await;
    }
    let mut client = server.connect().await;
    let head = server.head("GET", &format!("/v1/inboxes/{inbox}/messages"));
    client
        .write(format!("{head}Connection: close\r\n\r\n").as_bytes())
        .await;
    let answer = client.read_to_end().await;
    assert_eq!(answer.matches("\"subject\":\"large\"").count(), 8);
    assert!(answer.ends_with("\r\n0\r\n\r\n"));
}

/// A message of a client of MCP.
pub fn mcp_request(key: &ApiKey, message: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = request(key, "POST", "/mcp", message.to_owned());
    let always = [
        ("host", "127.0.0.1:8025"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for (name, value) in always.iter().chain(headers) {
        let name: HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn a_large_body_of_mcp_is_a_message_of_texts() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let call = async |tool: &str, html: String| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":
                {{"inbox":"{inbox}","to":"{inbox}@restante.example.com","subject":"s","html":{html}}}}}}}"#
        );
        api.send(mcp_request(&api.key, &call, &[])).await
    };
    let many = |value: &str, bytes: usize| format!("[{}0]", value.repeat(bytes / value.len()));
    let text = format!("\"{}\"", "a,{[".repeat(20_000));
    for (tool, html, status) in [
        ("get_message", text.clone(), 413),
        ("send_message", many("{},", 9_400_000), 413),
        ("send_message", many("0,", 9_400_000), 413),
        ("send_message", text, 200),
    ] {
        let answer = within(call(tool, html)).await;
        assert_eq!(answer.status, status, "{tool}: {answer:.300?}");
    }
    let messages = api.get(&format!("/v1/inboxes/{inbox}/messages")).await;
    assert_eq!(messages.json()["messages"].as_array().unwrap().len(), 1);
    assert!(api.service.jobs().are_idle());
}
