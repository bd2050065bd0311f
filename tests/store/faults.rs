//! Faults: which one applies to a delivery, how its use is counted, and when faults end.

use std::time::Duration;

use restante::model::{Fault, FaultAction, FaultPoint, Inbox, Timestamp};
use restante::store::RecipientFault;
use restante_delivery::Verdict;

use super::bed::{Bed, HOUR, START, delivery, id};

fn fault(at: FaultPoint, action: FaultAction, times: u32) -> Fault {
    Fault { at, action, times }
}

fn defer() -> FaultAction {
    FaultAction::Defer { reply: None }
}

fn reject() -> FaultAction {
    FaultAction::Reject { reply: None }
}

async fn with_faults(bed: &Bed, name: &str, faults: &[Fault]) -> Inbox {
    let inbox = bed.inbox(bed.default_project, name).await;
    assert!(
        bed.store
            .set_faults(&inbox, faults, START)
            .await
            .unwrap()
            .is_some()
    );
    inbox
}

async fn uses(bed: &Bed, inbox: &Inbox, now: Timestamp) -> Vec<Vec<Timestamp>> {
    bed.store
        .faults(inbox, now)
        .await
        .unwrap()
        .into_iter()
        .map(|state| state.uses)
        .collect()
}

/// The result of each delivery, as the cases of `tools/deliveries` write it.
fn outcomes(verdicts: &[Verdict]) -> Vec<String> {
    verdicts
        .iter()
        .map(|verdict| restante_deliveries::shown(verdict, &ToString::to_string))
        .collect()
}

#[testkit::each_engine]
async fn the_deliveries_of_a_batch_use_the_faults_in_order(bed: Bed) {
    let data = |action, times| fault(FaultPoint::Data, action, times);
    let faults = [
        data(FaultAction::Duplicate, 1),
        data(defer(), 2),
        data(FaultAction::Delay { seconds: 9 }, 1),
    ];
    let inbox = with_faults(&bed, "a", &faults).await;
    let delivered = bed
        .deliver(&vec![delivery(&["a"], "Hello"); 5], START.after(HOUR / 2))
        .await;
    let expected = [
        "a stored 1 2",
        "deferred by a",
        "deferred by a",
        "a stored 3, delayed 9 by a",
        "a stored 4",
    ];
    assert_eq!(outcomes(&delivered), expected);
    let used_at = START.after(HOUR / 2);
    assert_eq!(
        uses(&bed, &inbox, START).await,
        [vec![used_at], vec![used_at; 2], vec![used_at]]
    );
    assert_eq!(bed.subjects("a", START).await.len(), 4);
}

#[testkit::each_engine]
async fn a_fault_waits_for_the_one_before_it(bed: Bed) {
    let faults = [
        fault(FaultPoint::Data, reject(), 1),
        fault(FaultPoint::Rcpt, defer(), 1),
    ];
    with_faults(&bed, "a", &faults).await;
    let at_rcpt = async || {
        bed.store
            .use_recipient_fault(&id("a+tag"), false, START)
            .await
            .unwrap()
    };
    assert_eq!(at_rcpt().await, RecipientFault::Later);
    assert_eq!(
        outcomes(&bed.deliver(&[delivery(&["a"], "x")], START).await),
        ["rejected by a"]
    );
    assert_eq!(
        outcomes(&bed.deliver(&[delivery(&["a"], "x")], START).await),
        ["a stored 1"]
    );
    assert_eq!(at_rcpt().await, RecipientFault::Now(defer()));
    assert_eq!(at_rcpt().await, RecipientFault::None(id("a")));
    let none = async |name: &str| {
        bed.store
            .use_recipient_fault(&id(name), false, START)
            .await
            .unwrap()
    };
    assert_eq!(none("nobody").await, RecipientFault::None(id("nobody")));
    // An inbox with the tag in its name has separate faults.
    bed.inbox(bed.default_project, "a+tag").await;
    assert_eq!(none("a+tag").await, RecipientFault::None(id("a+tag")));
}

#[testkit::each_engine]
async fn concurrent_uses_are_counted_once(bed: Bed) {
    let inbox = with_faults(&bed, "a", &[fault(FaultPoint::Rcpt, defer(), 7)]).await;
    let used = futures_util::future::join_all(
        (0..20).map(|_| bed.store.use_recipient_fault(&inbox.id, false, START)),
    )
    .await;
    let used = used
        .into_iter()
        .filter(|used| *used.as_ref().unwrap() == RecipientFault::Now(defer()));
    assert_eq!(
        (used.count(), uses(&bed, &inbox, START).await[0].len()),
        (7, 7)
    );
}

#[testkit::each_engine]
async fn only_inboxes_with_faults_left_are_listed(bed: Bed) {
    with_faults(&bed, "used", &[fault(FaultPoint::Rcpt, defer(), 1)]).await;
    with_faults(&bed, "left", &[fault(FaultPoint::Rcpt, defer(), 2)]).await;
    let cleared = with_faults(&bed, "cleared", &[fault(FaultPoint::Rcpt, defer(), 1)]).await;
    bed.inbox(bed.default_project, "none").await;
    assert!(
        bed.store
            .set_faults(&cleared, &[], START)
            .await
            .unwrap()
            .is_some()
    );
    for name in ["used", "left"] {
        bed.store
            .use_recipient_fault(&id(name), false, START)
            .await
            .unwrap();
    }
    assert_eq!(
        bed.store.inboxes_with_faults(START).await.unwrap(),
        [id("left")]
    );
    assert!(
        bed.store
            .inboxes_with_faults(START.after(HOUR))
            .await
            .unwrap()
            .is_empty()
    );
}

#[testkit::each_engine]
async fn faults_end_with_their_inbox_and_are_swept(bed: Bed) {
    let inbox = with_faults(&bed, "a", &[fault(FaultPoint::Data, reject(), 9)]).await;
    bed.deliver(&[delivery(&["a"], "x")], START).await;
    let later = START.after(HOUR + Duration::from_secs(1));
    // Mail creates the inbox again before the sweeper runs.
    assert_eq!(
        outcomes(&bed.deliver(&[delivery(&["a"], "x")], later).await),
        ["a stored 1"]
    );
    assert_eq!(bed.store.faults(&inbox, later).await.unwrap(), []);
    bed.sweep(later).await;
    assert_eq!(
        bed.count("SELECT (SELECT COUNT(*) FROM faults) + (SELECT COUNT(*) FROM fault_uses)")
            .await,
        0
    );

    let again = bed.live("a", later).await.unwrap();
    assert!(
        bed.store
            .set_faults(&again, &[fault(FaultPoint::Data, reject(), 1)], later)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(
        outcomes(&bed.deliver(&[delivery(&["a"], "x")], later).await),
        ["rejected by a"]
    );
    bed.sweep(later.after(2 * HOUR)).await;
    assert_eq!(
        bed.count("SELECT (SELECT COUNT(*) FROM faults) + (SELECT COUNT(*) FROM fault_uses)")
            .await,
        0
    );
    assert!(
        bed.store
            .set_faults(&again, &[], later.after(2 * HOUR))
            .await
            .unwrap()
            .is_none()
    );
}
