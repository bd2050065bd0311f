//! Signing in and out: who gets a session, how long it lasts, and how guessing is slowed.

use std::time::Duration;

use super::visitor::{ADMIN, Visitor, request, sign_in_request};
use crate::common::Harness;
use axum::body::Body;

#[tokio::test]
async fn the_cookie_is_kept_from_scripts_and_other_sites() {
    let harness = Harness::start().await;
    let answer = harness.send(sign_in_request(harness.key.as_str(), "")).await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("restante_session=") && cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
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
    harness.service.projects().prepare_admin(Some(ADMIN)).await.unwrap();
    for secret in ["", "x", "rst_live_00000000000000000000000000000000", &ADMIN.to_uppercase()] {
        let answer = harness.send(sign_in_request(secret, "/projects")).await;
        assert_eq!((answer.status, answer.headers.get("set-cookie")), (401, None));
        assert!(answer.body.contains("This is neither an API key nor the administrator"), "{}", answer.body);
        assert!(answer.body.contains(r#"value="/projects""#));
        harness.clock.advance(Duration::from_secs(60 * 60));
    }
}

#[tokio::test]
async fn guessing_is_slowed_and_even_the_right_key_waits() {
    let harness = Harness::start().await;
    for _ in 0..5 {
        assert_eq!(harness.send(sign_in_request("wrong", "")).await.status, 401);
    }
    let answer = harness.send(sign_in_request(harness.key.as_str(), "")).await;
    assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (429, "2"));
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request("wrong", "")).await.status, 401);
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request(harness.key.as_str(), "")).await.status, 429);
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(harness.send(sign_in_request(harness.key.as_str(), "")).await.status, 303);
}

#[tokio::test]
async fn whoever_wanted_a_page_gets_there_after_signing_in() {
    let harness = Harness::start().await;
    let answer = harness.send(request("GET", "/refused?a=b").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.headers["location"], "/sign-in?next=%2Frefused%3Fa%3Db");
    let goes_to = async |next: &str| {
        let answer = harness.send(sign_in_request(harness.key.as_str(), next)).await;
        answer.headers["location"].to_str().unwrap().to_owned()
    };
    assert_eq!(goes_to("/refused?a=b").await, "/refused?a=b");
    assert_eq!(goes_to("//evil.example").await, "/");
    assert_eq!(goes_to("https://evil.example").await, "/");
}

#[tokio::test]
async fn signing_out_ends_one_session_and_everywhere_ends_all_of_the_key() {
    let harness = Harness::start().await;
    let (one, two) = (Visitor::of_default(&harness).await, Visitor::of_default(&harness).await);
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let out = one.post("/sign-out", &[]).await;
    assert_eq!((out.status, out.headers["location"].to_str().unwrap()), (303, "/sign-in"));
    assert!(out.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!((is_in(&one).await, is_in(&two).await), (false, true));
    let three = Visitor::of_default(&harness).await;
    two.post("/sign-out-everywhere", &[]).await;
    assert_eq!((is_in(&two).await, is_in(&three).await, is_in(&other).await), (false, false, true));
}

#[tokio::test]
async fn a_session_ends_with_its_time_and_with_its_key() {
    let harness = Harness::start().await;
    let (own, other) =
        (Visitor::of_default(&harness).await, Visitor::sign_in(&harness, harness.other_key.as_str()).await);
    harness.service.projects().rotate_key("other", Duration::from_secs(60)).await.unwrap();
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
    assert_eq!(harness.service.projects().prepare_admin(None).await.unwrap(), None);
    assert!(is_in(&administrator).await);
    harness.service.projects().prepare_admin(Some("another token")).await.unwrap();
    assert!(!is_in(&administrator).await);
}

#[tokio::test]
async fn the_first_start_makes_an_administrator_s_token_and_shows_it_once() {
    let harness = Harness::start().await;
    let token = harness.service.projects().prepare_admin(None).await.unwrap().unwrap();
    assert!(token.starts_with("rst_admin_") && token.len() == 42, "{token}");
    assert_eq!(harness.service.projects().prepare_admin(None).await.unwrap(), None);
    assert!(is_in(&Visitor::sign_in(&harness, &token).await).await);
}

async fn is_in(visitor: &Visitor<'_>) -> bool {
    visitor.get("/").await.headers["location"] != "/sign-in"
}
