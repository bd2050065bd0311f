//! Signing in and out: who gets a session, how long it lasts, and how guessing is slowed down.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use restante::http::server::Peer;
use restante::http::{App, router};

use super::visitor::{ADMIN, Visitor, request, sign_in_request};
use testkit::{Answer, Harness, answer, within};

#[tokio::test]
async fn the_cookie_is_kept_from_scripts_and_other_sites() {
    let harness = Harness::start().await;
    let answer = harness
        .send(sign_in_request(harness.key.as_str(), ""))
        .await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("restante_session=")
            && cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
}

#[tokio::test]
async fn a_key_sees_its_project_and_the_token_sees_all() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    assert!(own.project_path().await.starts_with("/projects/"));
    assert_eq!(own.get("/projects").await.status, 404);
    let administrator = Visitor::administrator(&harness).await;
    let projects = administrator.get("/projects").await.body;
    assert!(projects.contains(">default</a>") && projects.contains(">other</a>"));
}

#[tokio::test]
async fn nothing_else_signs_in() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    for secret in [
        "",
        "x",
        "rst_live_00000000000000000000000000000000",
        &ADMIN.to_uppercase(),
    ] {
        let answer = harness
            .passing(harness.send(sign_in_request(secret, "/projects")))
            .await;
        assert_eq!(
            (answer.status, answer.headers.get("set-cookie")),
            (401, None)
        );
        assert!(
            answer
                .body
                .contains("Invalid API key or administrator token"),
            "{}",
            answer.body
        );
        assert!(answer.body.contains(r#"value="/projects""#));
    }
}

#[tokio::test]
async fn a_guess_takes_a_second_and_only_five_are_made_at_a_time() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    let start = harness.clock.instant();
    let guesses = (0..12).map(|_| harness.send(sign_in_request("wrong", "")));
    let answers = harness
        .passing(futures_util::future::join_all(guesses))
        .await;
    assert!(answers.iter().all(|answer| answer.status == 401));
    assert!(harness.clock.instant().since(start) >= Duration::from_secs(3));
    let sign_in = harness.send(sign_in_request(ADMIN, ""));
    assert_eq!(within(sign_in).await.status, 303);
}

#[tokio::test]
async fn while_guesses_are_made_a_key_signs_in_at_once_and_the_token_has_its_turn() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    let mut guesses: Vec<_> = (0..5)
        .map(|_| Box::pin(harness.send(sign_in_request("wrong", ""))))
        .collect();
    let mut administrator = Box::pin(harness.send(sign_in_request(ADMIN, "")));
    let key = harness.send(sign_in_request(harness.key.as_str(), ""));
    let all_guess = async {
        let all = futures_util::future::join_all(&mut guesses);
        tokio::time::timeout(Duration::from_millis(300), all).await
    };
    let (timed_out, key) = tokio::join!(all_guess, key);
    assert!(timed_out.is_err(), "a wrong secret is answered immediately");
    assert_eq!(key.status, 303);
    let early = tokio::time::timeout(Duration::from_millis(100), &mut administrator).await;
    assert!(early.is_err(), "the token was compared out of turn");
    // A guess counts even if its client has left.
    drop(guesses);
    let early = tokio::time::timeout(Duration::from_millis(100), &mut administrator).await;
    assert!(early.is_err(), "who leaves makes its next guess earlier");
    assert_eq!(harness.passing(administrator).await.status, 303);
}

#[tokio::test]
async fn a_session_is_for_the_kind_of_address_that_has_opened_it() {
    let harness = Harness::start().await;
    let kinds = [
        ["127.0.0.1", "::1", "::ffff:127.0.0.2"],
        ["172.16.0.1", "192.168.0.9", "fd00::1"],
        ["192.0.2.1", "198.51.100.7", "2001:db8::1"],
    ];
    for opened in kinds {
        let key = harness.key.as_str();
        let answer = sign_in_through(&harness, "10.0.0.1", opened[0], key).await;
        assert_eq!(answer.status, 303);
        let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
        let (cookie, _) = cookie.split_once(';').unwrap();
        for kind in kinds {
            for client in kind {
                let mut request = request("GET", "/").body(Body::empty()).unwrap();
                request
                    .headers_mut()
                    .insert("cookie", cookie.parse().unwrap());
                let answer = through(&harness, "10.0.0.1", client, request).await;
                let is_in = answer.headers["location"] != "/sign-in";
                assert_eq!(is_in, kind == opened, "{opened:?} {client}");
            }
        }
    }
}

/// A sign-in on a connection from `peer`, which reports `client`; 10.0.0.0/8 is trusted.
async fn sign_in_through(harness: &Harness, peer: &str, client: &str, secret: &str) -> Answer {
    through(harness, peer, client, sign_in_request(secret, "")).await
}

async fn through(
    harness: &Harness,
    peer: &str,
    client: &str,
    mut request: Request<Body>,
) -> Answer {
    let app = App {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..testkit::app(&harness.service)
    };
    request.extensions_mut().insert(Peer(peer.parse().unwrap()));
    request.headers_mut().insert(
        "x-forwarded-for",
        format!("203.0.113.9, {client}").parse().unwrap(),
    );
    answer(router(app), request).await
}

#[tokio::test]
async fn a_visitor_who_wanted_a_page_gets_there_after_signing_in() {
    let harness = Harness::start().await;
    let answer = harness
        .send(request("GET", "/refused?a=b").body(Body::empty()).unwrap())
        .await;
    assert_eq!(
        answer.headers["location"],
        "/sign-in?next=%2Frefused%3Fa%3Db"
    );
    let goes_to = async |next: &str| {
        let answer = harness
            .send(sign_in_request(harness.key.as_str(), next))
            .await;
        answer.headers["location"].to_str().unwrap().to_owned()
    };
    assert_eq!(goes_to("/refused?a=b").await, "/refused?a=b");
    assert_eq!(goes_to("//evil.example").await, "/");
    assert_eq!(goes_to("https://evil.example").await, "/");
}

#[tokio::test]
async fn signing_out_ends_one_session_and_everywhere_ends_all_of_the_key() {
    let harness = Harness::start().await;
    let one = Visitor::of_default(&harness).await;
    let two = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let out = one.post("/sign-out", &[]).await;
    assert_eq!(
        (out.status, out.headers["location"].to_str().unwrap()),
        (303, "/sign-in")
    );
    assert!(
        out.headers["set-cookie"]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    assert_eq!((is_in(&one).await, is_in(&two).await), (false, true));
    let three = Visitor::of_default(&harness).await;
    two.post("/sign-out-everywhere", &[]).await;
    assert_eq!(
        (is_in(&two).await, is_in(&three).await, is_in(&other).await),
        (false, false, true)
    );
}

#[tokio::test]
async fn a_session_ends_with_its_time_and_with_its_key() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    harness
        .service
        .projects()
        .rotate_key("other", Duration::from_secs(60))
        .await
        .unwrap();
    assert!(is_in(&other).await);
    harness.clock.advance(Duration::from_secs(60));
    assert!(!is_in(&other).await);
    assert!(is_in(&own).await);
    harness.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    assert!(!is_in(&own).await);
}

#[tokio::test]
async fn a_new_administrator_s_token_ends_the_sessions_of_the_old_one() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    assert_eq!(
        harness
            .service
            .projects()
            .prepare_admin(None)
            .await
            .unwrap(),
        None
    );
    assert!(is_in(&administrator).await);
    harness
        .service
        .projects()
        .prepare_admin(Some("another token"))
        .await
        .unwrap();
    assert!(!is_in(&administrator).await);
}

#[tokio::test]
async fn the_first_start_makes_an_administrator_s_token_and_shows_it_once() {
    let harness = Harness::start().await;
    let token = harness
        .service
        .projects()
        .prepare_admin(None)
        .await
        .unwrap()
        .unwrap();
    assert!(
        token.starts_with("rst_admin_") && token.len() == 42,
        "{token}"
    );
    assert_eq!(
        harness
            .service
            .projects()
            .prepare_admin(None)
            .await
            .unwrap(),
        None
    );
    assert!(is_in(&Visitor::sign_in(&harness, &token).await).await);
}

async fn is_in(visitor: &Visitor<'_>) -> bool {
    visitor.get("/").await.headers["location"] != "/sign-in"
}

#[testkit::each_engine]
async fn a_link_signs_in_once_and_within_ten_minutes(engine: testkit::Engine) {
    let harness = Harness::on(engine).await;
    let link = async || harness.service.projects().sign_in_link().await.unwrap();
    let open = async |path: &str, cookie: &str| {
        let request = request("GET", path).header("cookie", cookie);
        harness.send(request.body(Body::empty()).unwrap()).await
    };
    let path = link().await.unwrap();
    // A browser that is signed in keeps its session, and the link.
    let own = Visitor::of_default(&harness).await;
    let kept = open(&path, &own.cookie).await;
    assert_eq!(
        (kept.status, kept.headers.get("set-cookie")),
        (303, None),
        "{kept:?}"
    );
    // A HEAD, as a preview of links sends it, does not use it up.
    let head = request("HEAD", &path).body(Body::empty()).unwrap();
    let head = harness.send(head).await;
    assert_eq!((head.status, head.headers.get("set-cookie")), (303, None));
    let signed_in = open(&path, "").await;
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = format!("{}/mail", own.project_path().await);
    assert_eq!(open(&page, cookie).await.status, 200);
    let again = open(&path, "").await;
    assert!(
        again.status == 410 && again.body.contains("was used or has expired"),
        "{again:?}"
    );
    let late = link().await.unwrap();
    harness.clock.advance(Duration::from_secs(10 * 60));
    assert_eq!(open(&late, "").await.status, 410);
    // Its token is no cookie.
    let token = link().await.unwrap().rsplit('/').next().unwrap().to_owned();
    let answer = open(&page, &format!("restante_session={token}")).await;
    assert_eq!(answer.status, 303);
}
