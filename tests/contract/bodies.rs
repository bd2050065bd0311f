//! How much memory requests may use: forms and filters have limits, and all bodies and answers
//! share a budget.

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::future::{join_all, select_all};
use futures_util::stream;
use http_body_util::BodyExt;
use restante::config::MIB;
use tower::ServiceExt;

use super::server::{LONG, Server};
use testkit::{Answer, Engine, Harness, request, within};

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
    assert_eq!(api.service.budget().free() as u64, 256 * MIB);
}

#[testkit::each_engine]
async fn past_the_budget_a_request_waits_and_then_gets_a_503(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let holder = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .key
        .0;
    let budget = api.service.budget();
    let all = budget.reserve(holder, budget.share()).await.unwrap();
    // Small bodies, small messages and short lists are still served.
    let small = api.deliver(&inbox, "Hello").await;
    assert_eq!(api.call("POST", "/v1/inboxes", "{}").await.status, 201);
    for path in [
        format!("/v1/messages/{small}"),
        format!("/v1/inboxes/{inbox}/messages"),
    ] {
        assert_eq!(api.get(&path).await.status, 200);
    }
    let large = api
        .deliver_raw(
            &inbox,
            &format!(
                "Subject: large\r\n\r\n{}",
                "0123456789abcde\r\n".repeat(100_000)
            ),
        )
        .await;
    let message = |form: &str| format!("/v1/messages/{large}{form}");
    let messages = format!("/v1/inboxes/{inbox}/messages");
    let paths = [
        message(""),
        message("/raw"),
        message("/page"),
        message("/details"),
        format!("{messages}/wait?subject=large"),
        messages,
    ];
    // All wait at the same time, in real time: a paused clock would let a query of PostgreSQL time
    // out.
    let refused = within(join_all(paths.iter().map(|path| api.get(path)))).await;
    for answer in refused {
        assert_eq!(answer.error(), (503, "service is busy".to_owned()));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    drop(all);
    for path in &paths {
        assert_eq!(api.get(path).await.status, 200);
    }
}

#[testkit::each_engine]
async fn a_key_without_memory_delays_no_other_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let holder = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .key
        .0;
    let budget = api.service.budget();
    let _all = budget.reserve(holder, budget.share()).await.unwrap();
    let theirs = api.create_inbox_with(&api.other_key).await;
    let text = "0123456789abcde\r\n".repeat(100_000);
    let large = api
        .deliver_raw(&theirs, &format!("Subject: large\r\n\r\n{text}"))
        .await;
    let send = format!(
        "{{\"to\":\"{theirs}@restante.example.com\",\"subject\":\"s\",\"text\":{:?}}}",
        text
    );
    let messages = format!("/v1/inboxes/{theirs}/messages");
    // A request that waits for memory would need ten seconds.
    within(async {
        for form in ["", "/raw", "/page", "/details"] {
            let path = format!("/v1/messages/{large}{form}");
            assert_eq!(
                api.call_with(&api.other_key, "GET", &path, Body::empty())
                    .await
                    .status,
                200,
                "{path}"
            );
        }
        assert_eq!(
            api.call_with(&api.other_key, "GET", &messages, Body::empty())
                .await
                .status,
            200
        );
        assert_eq!(
            api.call_with(&api.other_key, "POST", &messages, send)
                .await
                .status,
            202
        );
    })
    .await;
}

#[testkit::each_engine]
async fn an_answer_holds_its_room_until_it_is_sent(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let large = format!(
        "Subject: large\r\n\r\n{}",
        "0123456789abcde\r\n".repeat(100_000)
    );
    let id = api.deliver_raw(&inbox, &large).await;
    api.deliver_raw(&inbox, &large).await;
    let free = || api.service.budget().free() as u64;
    let paths = [
        format!("/v1/messages/{id}"),
        format!("/v1/messages/{id}/raw"),
        format!("/v1/inboxes/{inbox}/messages"),
    ];
    for path in paths {
        let response = api
            .router
            .clone()
            .oneshot(request(&api.key, "GET", &path, Body::empty()))
            .await
            .unwrap();
        let mut body = response.into_body();
        let mut most = 0;
        while let Some(piece) = within(body.frame()).await {
            most = most.max(256 * MIB - free());
            drop(piece.unwrap());
        }
        // A piece takes memory until it is sent, and not longer.
        assert!((MIB / 4..=2 * MIB).contains(&most), "{path} holds {most}");
        drop(body);
        assert_eq!(free(), 256 * MIB, "{path}");
    }
}

#[testkit::each_engine]
async fn a_list_of_large_messages_fits_into_a_small_part_of_the_budget(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    let large = format!(
        "Subject: large\r\n\r\n{}",
        "0123456789abcde\r\n".repeat(100_000)
    );
    for _ in 0..8 {
        server.api.deliver_raw(&inbox, &large).await;
    }
    let holder = server
        .api
        .service
        .authenticate(server.api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .key
        .0;
    let budget = server.api.service.budget();
    let _rest = budget
        .reserve(holder, budget.share() - 2 * 1024 * 1024)
        .await
        .unwrap();
    let mut client = server.connect().await;
    let head = server.head("GET", &format!("/v1/inboxes/{inbox}/messages"));
    client
        .write(format!("{head}Connection: close\r\n\r\n").as_bytes())
        .await;
    let answer = client.read_to_end().await;
    assert_eq!(answer.matches("\"subject\":\"large\"").count(), 8);
    assert!(answer.ends_with("\r\n0\r\n\r\n"));
}
