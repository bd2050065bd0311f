//! Signing in and out: who gets a session, how long it lasts, and how guessing is slowed down.

use std::time::Duration;

use axum::body::Body;
use restante::http::server::Peer;
use restante::http::{App, router};

use super::visitor::{ADMIN, Visitor, request, sign_in_request};
use testkit::{Answer, Harness, answer};

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
        let answer = harness.send(sign_in_request(secret, "/projects")).await;
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
        harness.clock.advance(Duration::from_secs(60 * 60));
    }
}

#[tokio::test]
async fn guessing_is_slowed_down_and_even_the_right_secret_waits() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    for _ in 0..5 {
        assert_eq!(harness.send(sign_in_request("wrong", "")).await.status, 401);
    }
    let answer = harness.send(sign_in_request(ADMIN, "")).await;
    assert_eq!(
        (
            answer.status,
            answer.headers["retry-after"].to_str().unwrap()
        ),
        (429, "2")
    );
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request("wrong", "")).await.status, 401);
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request(ADMIN, "")).await.status, 429);
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request(ADMIN, "")).await.status, 303);
}

#[tokio::test]
async fn a_good_key_does_not_reset_the_count_of_the_administrator_s_token() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    let mut compared = 0;
    for _ in 0..20 {
        compared += u32::from(harness.send(sign_in_request("a guess", "")).await.status == 401);
        assert_eq!(
            harness
                .send(sign_in_request(harness.key.as_str(), ""))
                .await
                .status,
            303
        );
    }
    assert_eq!(compared, 5);
    // The administrator has to wait, the members of the project do not.
    assert_eq!(harness.send(sign_in_request(ADMIN, "")).await.status, 429);
}

#[tokio::test]
async fn simultaneous_guesses_are_all_counted() {
    let harness = Harness::start().await;
    let guesses =
        (0..300).map(|number| harness.send(sign_in_request(&format!("guess {number}"), "")));
    let answers = futures_util::future::join_all(guesses).await;
    let with = |status| {
        answers
            .iter()
            .filter(|answer| answer.status == status)
            .count()
    };
    assert_eq!((with(401), with(429)), (5, 295));
}

#[tokio::test]
async fn one_guesser_does_not_lock_out_the_others_of_a_trusted_proxy() {
    let harness = Harness::start().await;
    harness
        .service
        .projects()
        .prepare_admin(Some(ADMIN))
        .await
        .unwrap();
    for _ in 0..10 {
        sign_in_through(&harness, "10.0.0.1", "198.51.100.66", "a guess").await;
    }
    assert_eq!(
        sign_in_through(&harness, "10.0.0.2", "198.51.100.66", ADMIN)
            .await
            .status,
        429
    );
    assert_eq!(
        sign_in_through(&harness, "10.0.0.1", "198.51.100.7", ADMIN)
            .await
            .status,
        303
    );
}

#[tokio::test]
async fn a_guesser_cannot_choose_an_address() {
    let harness = Harness::start().await;
    let mut compared = 0;
    for number in 0..20 {
        let answer = sign_in_through(
            &harness,
            "192.0.2.1",
            &format!("198.51.100.{number}"),
            "a guess",
        )
        .await;
        compared += u32::from(answer.status == 401);
    }
    assert_eq!(compared, 5);
}

/// A sign-in on a connection from `peer`, which reports `client`; 10.0.0.0/8 is trusted.
async fn sign_in_through(harness: &Harness, peer: &str, client: &str, secret: &str) -> Answer {
    let app = App {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..testkit::app(&harness.service)
    };
    let mut request = sign_in_request(secret, "");
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
    let (one, two) = (
        Visitor::of_default(&harness).await,
        Visitor::of_default(&harness).await,
    );
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
    let (own, other) = (
        Visitor::of_default(&harness).await,
        Visitor::sign_in(&harness, harness.other_key.as_str()).await,
    );
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
