//! Deliveries: order, sharing, ownership, refusals, durability.

use std::sync::Arc;

use restante::model::{MailQuery, Scope, Timestamp};
use restante::service::write;
use restante::store::{Change, Delivery, Search};
use restante_delivery::{Refusal, Verdict};

use super::bed::{Bed, FULL, HOUR, START, by, delivery, id};

/// A time after the expiry of an inbox created at `START`.
const LATER: Timestamp = Timestamp::from_millis(START.as_millis() + 3_600_000);

#[testkit::each_engine]
async fn sequences_follow_the_order_of_delivery(bed: Bed) {
    let batch: Vec<Delivery> = ["one", "two", "three"]
        .map(|subject| delivery(&["box"], subject))
        .into();
    let outcomes = bed.store(&batch, START).await;
    bed.mail(&["box"], "four", START).await;
    assert_eq!(
        bed.subjects("box", START).await,
        ["one", "two", "three", "four"]
    );
    assert_eq!(outcomes.len(), 3);
    let second = bed
        .message(bed.default_project, outcomes[1][0], START)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (second.head.sequence, second.head.subject.as_str()),
        (2, "two")
    );
}

#[testkit::each_engine]
async fn recipients_share_one_content(bed: Bed) {
    let ids = bed.mail(&["a", "b", "c"], "shared", START).await;
    assert_eq!(ids.len(), 3);
    for name in ["a", "b", "c"] {
        assert_eq!(bed.subjects(name, START).await, ["shared"]);
    }
    assert_eq!(bed.store.stored().await.unwrap(), (3, 1));
}

#[testkit::each_engine]
async fn a_full_inbox_refuses_and_the_rest_of_the_batch_is_stored(bed: Bed) {
    for number in 1..FULL {
        bed.mail(&["full"], &number.to_string(), START).await;
    }
    let mut changes = bed.changes().await;
    let batch = [
        delivery(&["full"], "the last"),
        delivery(&["third", "full"], "x"),
        delivery(&["other"], "y"),
        delivery(&["full"], "z"),
    ];
    let outcomes = bed.deliver(&batch, START).await;
    let full = |index: usize| outcomes[index] == Verdict::Refused(Refusal::Full(id("full")));
    assert!(
        outcomes[0].messages().count() == 1
            && full(1)
            && outcomes[2].messages().count() == 1
            && full(3)
    );
    while changes.recv().await.unwrap() != Change::InboxFull(id("full")) {}
    assert_eq!(bed.subjects("other", START).await, ["y"]);
    assert_eq!(
        bed.live("third", START).await,
        None,
        "nothing is left of what was refused"
    );
    let check = bed
        .store
        .check_recipient(&id("full").into(), None, &bed.policy(START))
        .await
        .unwrap();
    assert!(matches!(check, Err(Refusal::Full(_))));
    bed.store
        .check_recipient(&id("full").into(), None, &bed.policy(LATER))
        .await
        .unwrap()
        .unwrap();
    bed.mail(&["full"], "again", LATER).await;
    assert_eq!(bed.subjects("full", LATER).await, ["again"]);
}

#[testkit::each_engine]
async fn the_sender_s_project_owns_what_its_mail_opens(bed: Bed) {
    let project = bed.project("shop").await;
    let owned = by(project, delivery(&["mine"], "x"));
    bed.store(&[owned, delivery(&["nobody-s"], "y")], START)
        .await;
    assert_eq!(bed.live("mine", START).await.unwrap().project, project);
    let opened = bed.live("nobody-s", START).await.unwrap();
    assert_eq!(opened.project, bed.default_project);
    assert_eq!(
        (opened.created_at, opened.expires_at),
        (START, Some(START.after(HOUR)))
    );
}

#[testkit::each_engine]
async fn late_mail_goes_to_the_former_project(bed: Bed) {
    let project = bed.project("shop").await;
    bed.inbox(project, "late").await;
    bed.mail(&["late"], "late", LATER).await;
    let opened = bed.live("late", LATER).await.unwrap();
    assert_eq!((opened.project, opened.created_at), (project, LATER));
    assert_eq!(opened.expires_at, Some(LATER.after(HOUR)));
}

#[testkit::each_engine]
async fn an_address_opened_again_is_empty(bed: Bed) {
    let old = bed.mail(&["box"], "old", START).await;
    let new = bed.mail(&["box"], "new", LATER).await;
    assert_eq!(bed.subjects("box", LATER).await, ["new"]);
    assert!(
        bed.message(bed.default_project, old[0], LATER)
            .await
            .unwrap()
            .is_none()
    );
    let new = bed
        .message(bed.default_project, new[0], LATER)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(new.head.sequence, 2, "a cursor never sees a sequence twice");
}

#[testkit::each_engine]
async fn mail_for_a_deleted_project_is_refused(bed: Bed) {
    let project = bed.project("gone").await;
    bed.inbox(project, "box").await;
    assert!(bed.store.delete_project("gone", START).await.unwrap());
    let outcomes = bed.deliver(&[delivery(&["box"], "late")], START).await;
    assert!(matches!(
        outcomes[..],
        [Verdict::Refused(Refusal::Disabled(_))]
    ));
    let check = bed
        .store
        .check_recipient(&id("box").into(), None, &bed.policy(START))
        .await
        .unwrap();
    assert!(matches!(check, Err(Refusal::Disabled(_))));
}

#[testkit::each_engine]
async fn concurrent_writers_leave_no_gap(bed: Bed) {
    let policy = restante::store::Policy {
        inbox_messages: 1_000,
        ..bed.policy(START)
    };
    let writers = (0..8).map(|writer| {
        let store = bed.store.clone();
        let policy = policy.clone();
        tokio::spawn(async move {
            for number in 0..10 {
                let both = delivery(&["a", "b"], &format!("{writer}-{number}"));
                let outcomes = write(&store, &Arc::new(vec![both]), || policy.clone())
                    .await
                    .unwrap();
                assert_eq!(outcomes[0].messages().count(), 2);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for name in ["a", "b"] {
        assert_eq!(bed.subjects(name, START).await.len(), 64, "a page of 80");
        let inbox = bed.live(name, START).await.unwrap();
        let mut search = Search::newest_first(MailQuery {
            before: Some(17),
            ..MailQuery::new(Scope::Inbox(inbox))
        });
        let first = bed
            .store
            .page(&mut search, (100, usize::MAX), None, START)
            .await
            .unwrap();
        let sequences: Vec<i64> = first.iter().map(|message| message.head.sequence).collect();
        assert_eq!(sequences, (1..=16).rev().collect::<Vec<i64>>());
    }
}

#[testkit::each_engine]
async fn deliveries_to_the_same_inboxes_do_not_end_each_other(bed: Bed) {
    let policy = restante::store::Policy {
        inbox_messages: 1_000,
        ..bed.policy(START)
    };
    let writers = (0..8_usize).map(|writer| {
        let store = bed.store.clone();
        let policy = policy.clone();
        tokio::spawn(async move {
            let mut names = ["a", "b", "c", "d", "e", "f"];
            names.rotate_left(writer % 6);
            for number in 0..10 {
                let batch: Vec<Delivery> = names
                    .map(|name| delivery(&[name], &number.to_string()))
                    .into();
                let outcomes = write(&store, &Arc::new(batch), || policy.clone())
                    .await
                    .unwrap();
                assert!(
                    outcomes
                        .iter()
                        .all(|outcome| outcome.messages().count() == 1)
                );
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(bed.store.stored().await.unwrap().0, 8 * 10 * 6);
}

#[testkit::each_engine]
async fn bytes_that_text_cannot_hold_are_stored(bed: Bed) {
    let raw = b"From: \"a\0b\" <a\0b@else.example>\r\nSubject: x\0y\xff\r\n\r\n\0\xff\r\n";
    let delivery = Delivery {
        content: super::bed::content(raw),
        ..delivery(&["box"], "")
    };
    let outcomes = bed.store(&[delivery], START).await;
    assert_eq!(
        bed.raw(bed.default_project, outcomes[0][0]).await.unwrap(),
        raw
    );
    assert_eq!(bed.subjects("box", START).await.len(), 1);
}

#[testkit::each_engine]
async fn a_committed_message_survives_a_restart(bed: Bed) {
    bed.mail(&["box"], "kept", START).await;
    let bed = bed.restart().await;
    assert_eq!(bed.subjects("box", START).await, ["kept"]);
}

#[testkit::each_engine]
async fn an_announcement_follows_the_commit(bed: Bed) {
    let mut changes = bed.changes().await;
    bed.store(&[delivery(&["b"], "x"), delivery(&["a"], "y")], START)
        .await;
    assert_eq!(changes.recv().await, Some(Change::Inbox(id("a"))));
    assert_eq!(changes.recv().await, Some(Change::Inbox(id("b"))));
}

/// The clock of the delivering node is slower than that of the deleting node.
#[testkit::each_engine]
async fn mail_after_a_deletion_reopens_the_inbox_with_any_clock(bed: Bed) {
    bed.inbox(bed.default_project, "box").await;
    bed.mail(&["box"], "before", START).await;
    let later = START.after(std::time::Duration::from_secs(1));
    assert!(
        bed.store
            .end_inbox(&bed.live("box", START).await.unwrap(), later)
            .await
            .unwrap()
    );
    bed.mail(&["box"], "after", START).await;
    assert_eq!(bed.subjects("box", START).await, ["after"]);
    bed.sweep(START).await;
    assert_eq!(bed.subjects("box", START).await, ["after"]);
}

#[testkit::each_engine]
async fn a_recipient_is_checked_as_its_mail_would_be(bed: Bed) {
    let owner = bed.project("owner").await;
    let other = bed.project("other").await;
    bed.inbox(owner, "box").await;
    let check = async |sender, now| {
        bed.store
            .check_recipient(&id("box+news").into(), sender, &bed.policy(now))
            .await
            .unwrap()
            .map(drop)
    };
    assert_eq!(
        check(Some(other), START).await,
        Ok(()),
        "it goes to the live inbox"
    );
    assert_eq!(
        check(Some(other), LATER).await,
        Err(Refusal::Foreign(id("box+news")))
    );
    assert_eq!(
        (check(Some(owner), LATER).await, check(None, LATER).await),
        (Ok(()), Ok(()))
    );
}
