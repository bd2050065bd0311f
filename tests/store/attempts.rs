//! The stored results of attempts.

use std::time::Duration;

use restante::model::{Attempt, OutgoingStatus, Watched, WorkerId};

use super::bed::{Bed, START};
use super::outgoing::{claim, queue, settlement};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[testkit::each_engine]
async fn every_attempt_is_kept_with_its_reply(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    let quiet = queue(&bed, "c@b.example").await;
    let mark = async || {
        bed.store
            .mark(&Watched::Outgoing(bed.default_project), START)
            .await
            .unwrap()
    };
    let mut marks = vec![mark().await];
    claim(&bed.store, worker, item, START).await;
    marks.push(mark().await);
    bed.store
        .settle_outgoing(&settlement(item, worker, 1, OutgoingStatus::Queued))
        .await
        .unwrap();
    marks.push(mark().await);
    let later = START.after(DAY / 24);
    claim(&bed.store, worker, item, later).await;
    assert!(
        !bed.store
            .settle_outgoing(&settlement(item, worker, 1, OutgoingStatus::Failed))
            .await
            .unwrap()
    );
    bed.store
        .settle_outgoing(&settlement(item, worker, 2, OutgoingStatus::Sent))
        .await
        .unwrap();
    marks.push(mark().await);
    let attempts = bed.store.attempts(bed.default_project, 10).await.unwrap();
    let attempt = |number, at| Attempt {
        number,
        attempted_at: Some(at),
        server: None,
        reply: "250 ok".to_owned(),
    };
    assert_eq!(attempts[&item], [attempt(1, START), attempt(2, later)]);
    assert!(!attempts.contains_key(&quiet));
    assert!(
        bed.store
            .attempts(bed.default_project, 1)
            .await
            .unwrap()
            .is_empty(),
        "the newest item has none"
    );
    assert!(
        bed.store
            .attempts(bed.project("other").await, 10)
            .await
            .unwrap()
            .is_empty()
    );
    marks.dedup();
    assert_eq!(marks.len(), 4, "every step changes the mark: {marks:?}");
}

#[testkit::each_engine]
async fn a_retry_and_a_cancellation_change_the_mark(bed: Bed) {
    let item = queue(&bed, "a@b.example").await;
    let later = START.after(DAY / 24);
    let expires_at = START.after(DAY);
    let mark = async || {
        bed.store
            .mark(&Watched::Outgoing(bed.default_project), START)
            .await
            .unwrap()
    };
    let mut marks = vec![mark().await];
    assert!(
        bed.store
            .retry_outgoing(item, expires_at, later)
            .await
            .unwrap()
    );
    marks.push(mark().await);
    assert!(bed.store.cancel_outgoing(item, later).await.unwrap());
    marks.push(mark().await);
    assert!(
        bed.store
            .retry_outgoing(item, expires_at, later)
            .await
            .unwrap()
    );
    marks.push(mark().await);
    marks.dedup();
    assert_eq!(marks.len(), 4, "every step changes the mark: {marks:?}");
}

#[testkit::each_engine]
async fn attempts_are_deleted_with_their_item(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, worker, item, START).await;
    bed.store
        .settle_outgoing(&settlement(item, worker, 1, OutgoingStatus::Sent))
        .await
        .unwrap();
    bed.sweep(START.after(29 * DAY)).await;
    assert_eq!(
        bed.store
            .attempts(bed.default_project, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    bed.sweep(START.after(31 * DAY)).await;
    assert_eq!(bed.store.outgoing(item).await.unwrap(), None);
    assert!(
        bed.store
            .attempts(bed.default_project, 10)
            .await
            .unwrap()
            .is_empty()
    );
}
