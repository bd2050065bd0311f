//! Outgoing items: the queue of the mail workers, and the administrator's changes.

use std::time::Duration;

use restante::model::{
    EmailAddress, OutgoingFilter, OutgoingId, OutgoingStatus, ProjectId, Timestamp, WorkerId,
};
use restante::store::{Claim, Claimed, Delivery, NewOutgoing, OutgoingChange, Settlement, Store};

use restante_delivery::Verdict;

use super::bed::{Bed, HOUR, START, content, delivery, id, own};

const MINUTE: Duration = Duration::from_secs(60);

pub async fn queue(bed: &Bed, recipient: &str) -> OutgoingId {
    queue_of(bed, bed.default_project, recipient).await
}

async fn queue_of(bed: &Bed, project: ProjectId, recipient: &str) -> OutgoingId {
    let recipient = EmailAddress::parse(recipient).unwrap();
    let item = NewOutgoing::new(
        OutgoingId::generate(),
        project,
        id("a"),
        recipient.to_string(),
        "Hello".into(),
        "<1@b>".into(),
    );
    let item = item.queued(b"Subject: Hello\r\n\r\n", START.after(24 * HOUR));
    bed.store.add_outgoing(&item, START).await.unwrap();
    item.id
}

pub async fn claim(
    store: &Store,
    worker: WorkerId,
    item: OutgoingId,
    now: Timestamp,
) -> Vec<Claimed> {
    let claim = Claim {
        id: item,
        next_due: now.after(MINUTE),
    };
    store
        .claim_outgoing(worker, vec![claim], now.after(MINUTE / 2), now)
        .await
        .unwrap()
}

pub fn settlement(
    item: OutgoingId,
    worker: WorkerId,
    attempt: u32,
    status: OutgoingStatus,
) -> Settlement {
    let due_at = (status == OutgoingStatus::Queued).then(|| START.after(2 * MINUTE));
    Settlement {
        id: item,
        worker,
        attempt,
        status,
        due_at,
        server: None,
        reply: "250 ok".into(),
    }
}

/// The first five items of each queue that are due and not leased, those of the shortest queue
/// first.
async fn due(bed: &Bed, now: Timestamp) -> Vec<OutgoingId> {
    let mut queues = bed.store.domain_queues(now).await.unwrap();
    queues.sort_by_key(|queue| queue.due);
    let due = bed.store.due_outgoing(&queues, 5, now).await.unwrap();
    due.into_iter().flatten().map(|due| due.id).collect()
}

/// When the next item becomes due, or its lease expires.
async fn next(bed: &Bed, now: Timestamp) -> Option<Timestamp> {
    bed.store
        .domain_queues(now)
        .await
        .unwrap()
        .iter()
        .filter_map(|queue| queue.next)
        .min()
}

#[testkit::each_engine]
async fn a_claim_counts_the_attempt_and_is_exclusive(bed: Bed) {
    let one = WorkerId::generate();
    let other = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    let [claimed] = claim(&bed.store, one, item, START)
        .await
        .try_into()
        .unwrap();
    assert_eq!(claimed.size, 18);
    assert_eq!(
        bed.store.outgoing_piece(item, 0).await.unwrap().unwrap(),
        b"Subject: Hello\r\n\r\n"
    );
    assert_eq!(bed.store.outgoing_piece(item, 1).await.unwrap(), None);
    assert_eq!(
        (claimed.item.attempts, claimed.item.attempted_at),
        (1, Some(START))
    );
    assert_eq!(claimed.item.due_at, Some(START.after(MINUTE)));
    assert!(claim(&bed.store, other, item, START).await.is_empty());
    assert!(due(&bed, START).await.is_empty());
}

#[testkit::each_engine]
async fn a_lease_that_ended_is_taken_over_and_fences_the_former_worker(bed: Bed) {
    let one = WorkerId::generate();
    let other = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, one, item, START).await;
    let later = START.after(2 * MINUTE);
    assert_eq!(claim(&bed.store, other, item, later).await.len(), 1);
    assert!(
        !bed.store
            .settle_outgoing(&settlement(item, one, 1, OutgoingStatus::Sent))
            .await
            .unwrap()
    );
    assert!(
        !bed.store
            .settle_outgoing(&settlement(item, other, 1, OutgoingStatus::Sent))
            .await
            .unwrap()
    );
    assert!(
        bed.store
            .settle_outgoing(&settlement(item, other, 2, OutgoingStatus::Sent))
            .await
            .unwrap()
    );
    assert!(
        !bed.store
            .settle_outgoing(&settlement(item, other, 2, OutgoingStatus::Failed))
            .await
            .unwrap()
    );
    let item = bed.store.outgoing(item).await.unwrap().unwrap();
    assert_eq!(
        (item.status, item.last_reply.as_str(), item.due_at),
        (OutgoingStatus::Sent, "250 ok", None)
    );
}

#[testkit::each_engine]
async fn a_renewed_lease_goes_on_and_a_released_one_ends(bed: Bed) {
    let one = WorkerId::generate();
    let other = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, one, item, START).await;
    bed.store
        .renew_leases(one, vec![item], START.after(HOUR))
        .await
        .unwrap();
    assert!(
        claim(&bed.store, other, item, START.after(2 * MINUTE))
            .await
            .is_empty()
    );
    bed.store.release_leases(one).await.unwrap();
    assert!(
        claim(&bed.store, other, item, START).await.is_empty(),
        "the next attempt stays due when it was"
    );
    assert_eq!(
        claim(&bed.store, other, item, START.after(MINUTE))
            .await
            .len(),
        1
    );
}

/// The answer to the commit was lost. The worker has other attempts running and renews their
/// leases.
#[testkit::each_engine]
async fn an_item_whose_claim_was_lost_on_the_way_back_is_taken_again(bed: Bed) {
    let worker = WorkerId::generate();
    let known = queue(&bed, "a@b.example").await;
    let lost = queue(&bed, "b@b.example").await;
    claim(&bed.store, worker, known, START).await;
    claim(&bed.store, worker, lost, START).await;
    bed.store
        .renew_leases(worker, vec![known], START.after(HOUR))
        .await
        .unwrap();
    let later = START.after(MINUTE);
    assert_eq!(due(&bed, later).await, [lost]);
    let [claimed] = claim(&bed.store, worker, lost, later)
        .await
        .try_into()
        .unwrap();
    assert_eq!(claimed.item.attempts, 2);
    assert!(claim(&bed.store, worker, known, later).await.is_empty());
}

#[testkit::each_engine]
async fn each_domain_has_a_queue_and_its_oldest_items_come_first(bed: Bed) {
    let mut busy = Vec::new();
    for number in 0..20 {
        busy.push(queue(&bed, &format!("a{number}@busy.example")).await);
    }
    let quiet = queue(&bed, "a@quiet.example").await;
    let mut queues = bed.store.domain_queues(START).await.unwrap();
    queues.sort_by_key(|queue| queue.due);
    let told = queues
        .iter()
        .map(|queue| (&*queue.domain, queue.due, queue.due_since, queue.next));
    let expected = [
        ("quiet.example", 1, Some(START), None),
        ("busy.example", 20, Some(START), None),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(due(&bed, START).await, [&[quiet], &busy[..5]].concat());
    let before = bed.store.domain_queues(START.before(MINUTE)).await.unwrap();
    assert!(
        before
            .iter()
            .all(|queue| (queue.due, queue.next) == (0, Some(START)))
    );
}

#[testkit::each_engine]
async fn projects_that_send_to_one_domain_have_a_queue_each(bed: Bed) {
    let other = bed.project("other").await;
    for number in 0..7 {
        queue(&bed, &format!("a{number}@shop.example")).await;
    }
    let theirs = queue_of(&bed, other, "b@shop.example").await;
    let mut queues = bed.store.domain_queues(START).await.unwrap();
    queues.sort_by_key(|queue| queue.due);
    let told: Vec<_> = queues
        .iter()
        .map(|queue| (queue.project, queue.due))
        .collect();
    assert_eq!(told, [(other, 1), (bed.default_project, 7)]);
    let due = bed.store.due_outgoing(&queues, 5, START).await.unwrap();
    assert_eq!(
        (
            due[0].iter().map(|due| due.id).collect::<Vec<_>>(),
            due[1].len()
        ),
        (vec![theirs], 5)
    );
}

#[testkit::each_engine]
async fn the_next_look_is_at_what_becomes_due_or_free(bed: Bed) {
    let worker = WorkerId::generate();
    assert_eq!(next(&bed, START).await, None);
    let item = queue(&bed, "a@b.example").await;
    assert_eq!(next(&bed, START.before(MINUTE)).await, Some(START));
    assert_eq!(next(&bed, START).await, None, "what is due now is no news");
    claim(&bed.store, worker, item, START).await;
    assert_eq!(next(&bed, START).await, Some(START.after(MINUTE)));
    bed.store
        .renew_leases(worker, vec![item], START.after(HOUR))
        .await
        .unwrap();
    assert_eq!(next(&bed, START).await, Some(START.after(HOUR)));
}

#[testkit::each_engine]
async fn a_bounce_and_the_failure_are_one_transaction(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    bed.inbox(bed.default_project, "a").await;
    claim(&bed.store, worker, item, START).await;
    let bounce = |attempt| Delivery {
        content: content(b"Subject: Undelivered\r\n\r\n"),
        outgoing: Some(OutgoingChange::Settle(settlement(
            item,
            worker,
            attempt,
            OutgoingStatus::Failed,
        ))),
        ..own(bed.default_project, Some(item), delivery(&["a"], ""))
    };
    let outcomes = bed.deliver(&[bounce(2)], START).await;
    assert_eq!(outcomes, [Verdict::LeaseLost]);
    assert!(bed.subjects("a", START).await.is_empty());
    bed.store(&[bounce(1)], START).await;
    assert_eq!(bed.subjects("a", START).await, ["Undelivered"]);
    assert_eq!(
        bed.store.outgoing(item).await.unwrap().unwrap().status,
        OutgoingStatus::Failed
    );
}

#[testkit::each_engine]
async fn an_administrator_retries_and_cancels_items_that_are_not_being_sent(bed: Bed) {
    let worker = WorkerId::generate();
    let item = queue(&bed, "a@b.example").await;
    claim(&bed.store, worker, item, START).await;
    assert!(!bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(
        !bed.store
            .retry_outgoing(item, START.after(HOUR), START)
            .await
            .unwrap()
    );
    bed.store
        .settle_outgoing(&settlement(item, worker, 1, OutgoingStatus::Queued))
        .await
        .unwrap();
    assert!(bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(!bed.store.cancel_outgoing(item, START).await.unwrap());
    assert!(due(&bed, START.after(HOUR)).await.is_empty());
    assert!(
        bed.store
            .retry_outgoing(item, START.after(HOUR), START)
            .await
            .unwrap()
    );
    let [claimed] = claim(&bed.store, worker, item, START)
        .await
        .try_into()
        .unwrap();
    assert_eq!(
        (claimed.item.attempts, claimed.item.expires_at),
        (2, Some(START.after(HOUR)))
    );
    bed.store
        .settle_outgoing(&settlement(item, worker, 2, OutgoingStatus::Sent))
        .await
        .unwrap();
    assert!(
        !bed.store
            .retry_outgoing(item, START.after(HOUR), START)
            .await
            .unwrap(),
        "what was sent stays sent"
    );
}

#[testkit::each_engine]
async fn items_are_listed_newest_first_by_project_and_status(bed: Bed) {
    let other = bed.project("other").await;
    let first = queue(&bed, "a@b.example").await;
    let second = queue(&bed, "b@b.example").await;
    let ids = async |filter: OutgoingFilter, limit| {
        let items = bed.store.list_outgoing(&filter, limit).await.unwrap();
        items.into_iter().map(|item| item.id).collect::<Vec<_>>()
    };
    let all = OutgoingFilter::default();
    assert_eq!(ids(all, 10).await, [second, first]);
    assert_eq!(ids(all, 1).await, [second]);
    assert_eq!(
        ids(
            OutgoingFilter {
                project: Some(bed.default_project),
                ..all
            },
            10
        )
        .await,
        [second, first]
    );
    assert!(
        ids(
            OutgoingFilter {
                project: Some(other),
                ..all
            },
            10
        )
        .await
        .is_empty()
    );
    bed.store.cancel_outgoing(first, START).await.unwrap();
    assert_eq!(
        ids(
            OutgoingFilter {
                status: Some(OutgoingStatus::Queued),
                ..all
            },
            10
        )
        .await,
        [second]
    );
    assert_eq!(
        ids(
            OutgoingFilter {
                status: Some(OutgoingStatus::Cancelled),
                ..all
            },
            10
        )
        .await,
        [first]
    );
}

#[testkit::each_engine]
async fn what_waits_survives_a_restart(bed: Bed) {
    let item = queue(&bed, "a@b.example").await;
    let bed = bed.restart().await;
    assert_eq!(
        claim(&bed.store, WorkerId::generate(), item, START)
            .await
            .len(),
        1
    );
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
    assert!(
        !bed.store
            .settle_outgoing(&settlement(item.id, worker, 1, OutgoingStatus::Queued))
            .await
            .unwrap()
    );
    assert_eq!(bed.store.outgoing(item.id).await.unwrap(), None);
}
