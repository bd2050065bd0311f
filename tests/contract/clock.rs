//! Durations follow the monotonic clock: setting the wall clock back lengthens nothing.

use std::time::Duration;

use axum::body::Body;
use futures_util::future::select_all;

use testkit::{Engine, Harness, START, within};

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

#[testkit::each_engine]
async fn a_wait_ends_in_time_when_the_clock_is_set_back(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let deadline = api.clock.instant().after(3 * SECOND);
    let open = |_| api.spawn_get(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=3000"));
    // When one of five is refused, the other four are open.
    let (refused, _, mut waits) = within(select_all((0..5).map(open))).await;
    assert_eq!(refused.unwrap().status, 429);
    let wait = waits.remove(0);
    api.clock.set_wall(START.before(HOUR));
    let answer = api.at_deadline(deadline, wait).await;
    assert_eq!(answer.error(), (408, "timeout".to_owned()));
    assert_eq!(api.clock.instant(), deadline);
}

#[testkit::each_engine]
async fn a_rotated_key_stops_in_time_when_the_clock_is_set_back(engine: Engine) {
    let api = Harness::on(engine).await;
    let status = async |key| {
        api.call_with(key, "POST", "/v1/inboxes", Body::empty())
            .await
            .status
    };
    let new = api
        .service
        .projects()
        .rotate_key("other", 6 * SECOND)
        .await
        .unwrap();
    assert_eq!(
        (status(&api.other_key).await, status(&new).await),
        (201, 201)
    );
    api.clock.set_wall(START.before(HOUR));
    api.clock.advance(5 * SECOND);
    assert_eq!(
        (status(&api.other_key).await, status(&new).await),
        (201, 201)
    );
    api.clock.advance(SECOND);
    assert_eq!(
        (status(&api.other_key).await, status(&new).await),
        (401, 201)
    );
    // Another rotation does not make it valid again.
    api.service.projects().create("third").await.unwrap();
    api.service
        .projects()
        .rotate_key("third", Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(
        (status(&api.other_key).await, status(&new).await),
        (401, 201)
    );
}
