//! Outgoing items: the queue of the mail workers, and the administrator's changes.

use std::time::Duration;

use restante::model::{EmailAddress, OutgoingFilter, OutgoingId, OutgoingStatus, Timestamp, WorkerId};
use restante::store::{Claim, Claimed, Delivery, NewOutgoing, OutgoingChange, Settlement, Store};

use restante_delivery::Verdict;

use super::bed::{Bed, HOUR, START, content, delivery, id, own};

const MINUTE: Duration = Duration::from_secs(60);

pub async fn queue(bed: &Bed, recipient: &str) -> OutgoingId {
    let recipient = EmailAddress::parse(recipient).unwrap();
    let item = NewOutgoing::new(
        OutgoingId::generate(),
        bed.default_project,
        id("a"),
        recipient.to_string(),
        "Hello".into(),
        "<1@b>".into(),
    );
    let item = item.queued(b"Subject: Hello\r\n\r\n", START.after(24 * HOUR));
    bed.store.add_outgoing(&item, START).await.unwrap();
    item.id
}

pub async fn claim(store: &Store, worker: WorkerId, item: OutgoingId, now: Timestamp) -> Vec<Claimed> {
    let claim = Claim { id: item, next_due: now.after(MINUTE) };
    store.claim_outgoing(worker, vec![claim], now.after(MINUTE / 2), now).await.unwrap()
}

pub fn settlement(item: OutgoingId, worker: WorkerId, attempt: u32, status: OutgoingStatus) -> Settlement {
    let due_at = (status == OutgoingStatus::Queued).then(|| START.after(2 * MINUTE));
    Settlement { id: item, worker, attempt, status, due_at, server: None, reply: "250 ok".into() }
}

#[testkit::each_engine]
async fn a_claim_counts_the_attempt_and_is_exclusive(bed: Bed) {
    let (one, other) = (WorkerId::generate(), WorkerId::generate());
    let item = queue(&bed, "a@b.example").await;
    let [claimed] = claim(&bed.store, one, item, START).await.try_into().unwrap();
    assert_eq!(claimed.size, 18);
    assert_eq!(bed.store.outgoing_piece(item, 0).await.unwrap().unwrap(), b"Subject: Hello\r\n\r\n");
    assert_eq!(bed.store.outgoing_piece(item, 1).await.unwrap(), None);
    assert_eq!((claimed.item.attempts, claimed.item.attempted_at), (1, Some(START)));
    assert_eq!(claimed.item.due_at, Some(START.after(MINUTE)));
    assert!(claim(&bed.store, other, item, START).await.is_empty());
    assert!(bed.store.due_outgoing(5, 100, START).await.unwrap().is_empty());
}

#[testkit::each_engine]
async fn a_lease_that_ended_is_taken_over_and_fences_the_former_worker(bed: Bed) {
    let (one, other) = (WorkerId::generate(), WorkerId::generate());
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, one, item, START).await;
    let later = START.after(2 * MINUTE);
    assert_eq!(claim(&bed.store, other, item, later).await.len(), 1);
    assert!(!bed.store.settle_outgoing(&settlement(item, one, 1, OutgoingStatus::Sent)).await.unwrap());
    assert!(!bed.store.settle_outgoing(&settlement(item, other, 1, OutgoingStatus::Sent)).await.unwrap());
    assert!(bed.store.settle_outgoing(&settlement(item, other, 2, OutgoingStatus::Sent)).await.unwrap());
    assert!(!bed.store.settle_outgoing(&settlement(item, other, 2, OutgoingStatus::Failed)).await.unwrap());
    let item = bed.store.outgoing(item).await.unwrap().unwrap();
    assert_eq!((item.status, item.last_reply.as_str(), item.due_at), (OutgoingStatus::Sent, "250 ok", None));
}

#[testkit::each_engine]
async fn a_renewed_lease_goes_on_and_a_released_one_ends(bed: Bed) {
    let (one, other) = (WorkerId::generate(), WorkerId::generate());
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, one, item, START).await;
    bed.store.renew_leases(one, vec![item], START.after(HOUR)).await.unwrap();
    assert!(claim(&bed.store, other, item, START.after(2 * MINUTE)).await.is_empty());
    bed.store.release_leases(one).await.unwrap();
    assert!(claim(&bed.store, other, item, START).await.is_empty(), "the next attempt stays due when it was");
    assert_eq!(claim(&bed.store, other, item, START.after(MINUTE)).await.len(), 1);
}

/// The answer to the commit was lost. The worker has other attempts running and renews their leases.
#[testkit::each_engine]
async fn an_item_whose_claim_was_lost_on_the_way_back_is_taken_again(bed: Bed) {
    let worker = WorkerId::generate();
    let (known, lost) = (queue(&bed, "a@b.example").await, queue(&bed, "b@b.example").await);
    claim(&bed.store, worker, known, START).await;
    claim(&bed.store, worker, lost, START).await;
    bed.store.renew_leases(worker, vec![known], START.after(HOUR)).await.unwrap();
    let later = START.after(MINUTE);
    let due = bed.store.due_outgoing(5, 100, later).await.unwrap();
    assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [lost]);
    let [claimed] = claim(&bed.store, worker, lost, later).await.try_into().unwrap();
    assert_eq!(claimed.item.attempts, 2);
    assert!(claim(&bed.store, worker, known, later).await.is_empty());
}

#[testkit::each_engine]
async fn no_domain_fills_the_queue_for_the_others(bed: Bed) {
    for number in 0..20 {
        queue(&bed, &format!("a{number}@busy.example")).await;
    }
    queue(&bed, "a@quiet.example").await;
    let due = bed.store.due_outgoing(5, 100, START).await.unwrap();
    let busy = due.iter().filter(|due| due.domain == "busy.example").count();
    assert_eq!((due.len(), busy), (6, 5));
}

#[testkit::each_engine]
async fn the_next_look_is_at_what_becomes_due_or_free(bed: Bed) {
    let worker = WorkerId::generate();
    assert_eq!(bed.store.next_outgoing(START).await.unwrap(), None);
    let item = queue(&bed, "a@b.example").await;
    assert_eq!(bed.store.next_outgoing(START.before(MINUTE)).await.unwrap(), Some(START));
    assert_eq!(bed.store.next_outgoing(START).await.unwrap(), None, "what is due now is no news");
    claim(&bed.store, worker, item, START).await;
    assert_eq!(bed.store.next_outgoing(START).await.unwrap(), Some(START.after(MINUTE)));
    bed.store.renew_leases(worker, vec![item], START.after(HOUR)).await.unwrap();
    assert_eq!(bed.store.next_outgoing(START).await.unwrap(), Some(START.after(HOUR)));
}

#[testkit::each_engine]
async fn a_bounce_and_the_failure_are_one_transaction(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    bed.inbox(bed.default_project, "a").await;
    claim(&bed.store, worker, item, START).await;
    let bounce = |attempt| Delivery {
        content: content(b"Subject: Undelivered\r\n\r\n"),
        outgoing: Some(OutgoingChange::Settle(settlement(item, worker, attempt, OutgoingStatus::Failed))),
        ..own(bed.default_project, Some(item), delivery(&["a"], ""))
    };
    let outcomes = bed.deliver(&[bounce(2)], START).await;
    assert_eq!(outcomes, [Verdict::LeaseLost]);
    assert!(bed.subjects("a", START).await.is_empty());
    bed.store(&[bounce(1)], START).await;
    assert_eq!(bed.subjects("a", START).await, ["Undelivered"]);
    assert_eq!(bed.store.outgoing(item).await.unwrap().unwrap().status, OutgoingStatus::Failed);
}

#[testkit::each_engine]
async fn an_administrator_retries_and_cancels_items_that_are_not_being_sent(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, worker, item, START).await;
    assert!(!bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(!bed.store.retry_outgoing(item, START.after(HOUR), START).await.unwrap());
    bed.store.settle_outgoing(&settlement(item, worker, 1, OutgoingStatus::Queued)).await.unwrap();
    assert!(bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(!bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(bed.store.due_outgoing(5, 100, START.after(HOUR)).await.unwrap().is_empty());
    assert!(bed.store.retry_outgoing(item, START.after(HOUR), START).await.unwrap());
    let [claimed] = claim(&bed.store, worker, item, START).await.try_into().unwrap();
    assert_eq!((claimed.item.attempts, claimed.item.expires_at), (2, Some(START.after(HOUR))));
    bed.store.settle_outgoing(&settlement(item, worker, 2, OutgoingStatus::Sent)).await.unwrap();
    assert!(!bed.store.retry_outgoing(item, START.after(HOUR), START).await.unwrap(), "what was sent stays sent");
}

#[testkit::each_engine]
async fn items_are_listed_newest_first_by_project_and_status(bed: Bed) {
    let other = bed.project("other").await;
    let (first, second) = (queue(&bed, "a@b.example").await, queue(&bed, "b@b.example").await);
    let ids = async |filter: OutgoingFilter, limit| {
        let items = bed.store.list_outgoing(&filter, limit).await.unwrap();
        items.into_iter().map(|item| item.id).collect::<Vec<_>>()
    };
    let all = OutgoingFilter::default();
    assert_eq!(ids(all, 10).await, [second, first]);
    assert_eq!(ids(all, 1).await, [second]);
    assert_eq!(ids(OutgoingFilter { project: Some(bed.default_project), ..all }, 10).await, [second, first]);
    assert!(ids(OutgoingFilter { project: Some(other), ..all }, 10).await.is_empty());
    bed.store.cancel_outgoing(first, START).await.unwrap();
    assert_eq!(ids(OutgoingFilter { status: Some(OutgoingStatus::Queued), ..all }, 10).await, [second]);
    assert_eq!(ids(OutgoingFilter { status: Some(OutgoingStatus::Cancelled), ..all }, 10).await, [first]);
}

#[testkit::each_engine]
async fn what_waits_survives_a_restart(bed: Bed) {
    let item = queue(&bed, "a@b.example").await;
    let bed = bed.restart().await;
    assert_eq!(claim(&bed.store, WorkerId::generate(), item, START).await.len(), 1);
}

#[testkit::each_engine]
async fn a_deleted_project_takes_its_queue_along(bed: Bed) {
    let project = bed.project("shop").await;
    let worker = WorkerId::generate();
    let recipient = EmailAddress::parse("a@b.example").unwrap();
    let item = NewOutgoing::new(
        OutgoingId::generate(),
        project,
        id("a"),
        recipient.to_string(),
        "Hello".into(),
        "<1@b>".into(),
    );
    let item = item.queued(b"", START.after(HOUR));
    bed.store.add_outgoing(&item, START).await.unwrap();
    assert_eq!(claim(&bed.store, worker, item.id, START).await.len(), 1);
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    assert!(!bed.store.settle_outgoing(&settlement(item.id, worker, 1, OutgoingStatus::Queued)).await.unwrap());
    assert_eq!(bed.store.outgoing(item.id).await.unwrap(), None);
}
