//! Faults: which one applies to a delivery, how its use is counted, and when faults end.

use std::time::Duration;

use restante::model::{Fault, FaultAction, FaultPoint, Inbox, Timestamp};
use restante::store::{Delivered, Origin, RecipientFault, RefusedDelivery};

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
    assert!(bed.store.set_faults(&inbox, faults, START).await.unwrap());
    inbox
}

async fn uses(bed: &Bed, inbox: &Inbox, now: Timestamp) -> Vec<Vec<Timestamp>> {
    bed.store.faults(inbox, now).await.unwrap().into_iter().map(|state| state.uses).collect()
}

/// The result of each delivery: the first fault that it used, and how often it was stored.
fn outcomes(delivered: Vec<Result<Delivered, RefusedDelivery>>) -> Vec<(Option<FaultAction>, usize)> {
    let outcome = |it: Delivered| (it.faults.into_iter().next().map(|fault| fault.action), it.messages.len());
    delivered.into_iter().map(|delivered| outcome(delivered.unwrap())).collect()
}

#[testkit::each_engine]
async fn the_deliveries_of_a_batch_use_the_faults_in_order(bed: Bed) {
    let data = |action, times| fault(FaultPoint::Data, action, times);
    let faults = [data(FaultAction::Duplicate, 1), data(defer(), 2), data(FaultAction::Delay { seconds: 9 }, 1)];
    let inbox = with_faults(&bed, "a", &faults).await;
    let delivered = bed.deliver(&vec![delivery(&["a"], "Hello"); 5], START.after(HOUR / 2)).await;
    let expected = [
        (Some(FaultAction::Duplicate), 2),
        (Some(defer()), 0),
        (Some(defer()), 0),
        (Some(FaultAction::Delay { seconds: 9 }), 1),
        (None, 1),
    ];
    assert_eq!(outcomes(delivered), expected);
    let used_at = START.after(HOUR / 2);
    assert_eq!(uses(&bed, &inbox, START).await, [vec![used_at], vec![used_at; 2], vec![used_at]]);
    assert_eq!(bed.subjects("a", START).await.len(), 4);
}

#[testkit::each_engine]
async fn a_fault_waits_for_the_one_before_it(bed: Bed) {
    let faults = [fault(FaultPoint::Data, reject(), 1), fault(FaultPoint::Rcpt, defer(), 1)];
    with_faults(&bed, "a", &faults).await;
    let at_rcpt = async || bed.store.use_recipient_fault(&id("a+tag"), START).await.unwrap();
    assert_eq!(at_rcpt().await, RecipientFault::Later);
    assert_eq!(outcomes(bed.deliver(&[delivery(&["a"], "x")], START).await), [(Some(reject()), 0)]);
    assert_eq!(outcomes(bed.deliver(&[delivery(&["a"], "x")], START).await), [(None, 1)]);
    assert_eq!(at_rcpt().await, RecipientFault::Now(defer()));
    assert_eq!(at_rcpt().await, RecipientFault::None(id("a")));
    let none = async |name: &str| bed.store.use_recipient_fault(&id(name), START).await.unwrap();
    assert_eq!(none("nobody").await, RecipientFault::None(id("nobody")));
    // An inbox with the tag in its name has separate faults.
    bed.inbox(bed.default_project, "a+tag").await;
    assert_eq!(none("a+tag").await, RecipientFault::None(id("a+tag")));
}

#[testkit::each_engine]
async fn the_first_recipient_with_a_fault_of_the_reply_decides(bed: Bed) {
    let one = with_faults(&bed, "b", &[fault(FaultPoint::Data, defer(), 1)]).await;
    let other = with_faults(&bed, "a", &[fault(FaultPoint::Data, reject(), 1)]).await;
    assert_eq!(outcomes(bed.deliver(&[delivery(&["c", "b+x", "a"], "x")], START).await), [(Some(defer()), 0)]);
    assert_eq!((uses(&bed, &one, START).await, uses(&bed, &other, START).await), (vec![vec![START]], vec![vec![]]));
    // The recipient without an inbox has got none.
    assert!(bed.live("c", START).await.is_none());
}

#[testkit::each_engine]
async fn a_fault_that_accepts_concerns_only_its_own_inbox(bed: Bed) {
    let data = |action| [fault(FaultPoint::Data, action, 1)];
    let twice = with_faults(&bed, "twice", &data(FaultAction::Duplicate)).await;
    let bounced = with_faults(&bed, "bounced", &data(FaultAction::Bounce)).await;
    let rejected = with_faults(&bed, "rejected", &data(reject())).await;
    let recipients = ["twice", "bounced+tag", "other"];
    // A rejection has one reply for all of them, and uses no fault of theirs.
    let all = [&recipients[..], &["rejected"]].concat();
    let from_nobody = |recipients: &[&str]| delivery(recipients, "x");
    assert_eq!(outcomes(bed.deliver(&[from_nobody(&all)], START).await), [(Some(reject()), 0)]);
    assert_eq!(uses(&bed, &rejected, START).await, [vec![START]]);
    let delivered = bed.deliver(&[from_nobody(&recipients)], START).await.pop().unwrap().unwrap();
    let inboxes: Vec<&str> = delivered.messages.iter().map(|outcome| outcome.inbox.as_str()).collect();
    assert_eq!(inboxes, ["twice", "twice", "other"]);
    assert_eq!(delivered.faults[1].recipients, [id("bounced+tag")]);
    for inbox in [&twice, &bounced] {
        assert_eq!(uses(&bed, inbox, START).await, [vec![START]]);
    }
}

#[testkit::each_engine]
async fn a_bounce_needs_a_notification_unless_there_is_no_sender(bed: Bed) {
    let inbox = with_faults(&bed, "a", &[fault(FaultPoint::Data, FaultAction::Bounce, 2)]).await;
    let from = |reverse_path: &str| {
        let mut delivery = delivery(&["a"], "Hello");
        let raw = b"Subject: Hello\r\n\r\nText\r\n";
        let origin = Origin { reverse_path: reverse_path.to_owned(), ..Origin::default() };
        let parsed = restante_mail::parse(raw);
        delivery.content = restante::store::Content::encode(parsed, String::new(), origin, raw).unwrap();
        delivery
    };
    let wanted = bed.deliver(&[from("app@client.example")], START).await.pop().unwrap();
    assert!(matches!(wanted, Err(RefusedDelivery::BounceWanted { faults, .. }) if faults[0].inbox == id("a")));
    assert_eq!(uses(&bed, &inbox, START).await, [vec![]]);
    assert_eq!(outcomes(bed.deliver(&[from("")], START).await), [(Some(FaultAction::Bounce), 0)]);
    assert_eq!(uses(&bed, &inbox, START).await, [vec![START]]);
}

#[testkit::each_engine]
async fn concurrent_uses_are_counted_once(bed: Bed) {
    let inbox = with_faults(&bed, "a", &[fault(FaultPoint::Rcpt, defer(), 7)]).await;
    let used = futures_util::future::join_all((0..20).map(|_| bed.store.use_recipient_fault(&inbox.id, START))).await;
    let used = used.into_iter().filter(|used| *used.as_ref().unwrap() == RecipientFault::Now(defer()));
    assert_eq!((used.count(), uses(&bed, &inbox, START).await[0].len()), (7, 7));
}

#[testkit::each_engine]
async fn only_inboxes_with_faults_left_are_listed(bed: Bed) {
    with_faults(&bed, "used", &[fault(FaultPoint::Rcpt, defer(), 1)]).await;
    with_faults(&bed, "left", &[fault(FaultPoint::Rcpt, defer(), 2)]).await;
    let cleared = with_faults(&bed, "cleared", &[fault(FaultPoint::Rcpt, defer(), 1)]).await;
    bed.inbox(bed.default_project, "none").await;
    assert!(bed.store.set_faults(&cleared, &[], START).await.unwrap());
    for name in ["used", "left"] {
        bed.store.use_recipient_fault(&id(name), START).await.unwrap();
    }
    assert_eq!(bed.store.inboxes_with_faults(START).await.unwrap(), [id("left")]);
    assert!(bed.store.inboxes_with_faults(START.after(HOUR)).await.unwrap().is_empty());
}

#[testkit::each_engine]
async fn faults_end_with_their_inbox_and_are_swept(bed: Bed) {
    let inbox = with_faults(&bed, "a", &[fault(FaultPoint::Data, reject(), 9)]).await;
    bed.deliver(&[delivery(&["a"], "x")], START).await;
    let later = START.after(HOUR + Duration::from_secs(1));
    // Mail creates the inbox again before the sweeper runs.
    assert_eq!(outcomes(bed.deliver(&[delivery(&["a"], "x")], later).await), [(None, 1)]);
    assert_eq!(bed.store.faults(&inbox, later).await.unwrap(), []);
    bed.sweep(later).await;
    assert_eq!(bed.count("SELECT (SELECT COUNT(*) FROM faults) + (SELECT COUNT(*) FROM fault_uses)").await, 0);

    let again = bed.live("a", later).await.unwrap();
    assert!(bed.store.set_faults(&again, &[fault(FaultPoint::Data, reject(), 1)], later).await.unwrap());
    assert_eq!(outcomes(bed.deliver(&[delivery(&["a"], "x")], later).await), [(Some(reject()), 0)]);
    bed.sweep(later.after(2 * HOUR)).await;
    assert_eq!(bed.count("SELECT (SELECT COUNT(*) FROM faults) + (SELECT COUNT(*) FROM fault_uses)").await, 0);
    assert!(!bed.store.set_faults(&again, &[], later.after(2 * HOUR)).await.unwrap());
}
