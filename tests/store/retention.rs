//! The retention of permanent inboxes.

use std::time::Duration;

use restante::model::Inbox;
use restante::store::Change;
use restante_delivery::{Refusal, Verdict};

use super::bed::{Bed, FULL, HOUR, START, delivery, id};
use super::inboxes::permanent;

const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn kept_for(bed: &Bed, name: &str, days: Option<i64>) -> Inbox {
    let inbox = permanent(bed.default_project, name);
    assert!(bed.store.create_inbox(&inbox).await.unwrap());
    assert!(bed.store.set_retention_days(&inbox, days).await.unwrap());
    inbox
}

#[testkit::each_engine]
async fn messages_older_than_the_retention_are_removed(bed: Bed) {
    let inbox = kept_for(&bed, "box", Some(7)).await;
    kept_for(&bed, "archive", None).await;
    for (subject, at) in [
        ("first", START),
        ("second", START.after(HOUR)),
        ("third", START.after(2 * DAY)),
    ] {
        bed.mail(&["box", "archive"], subject, at).await;
    }
    assert_eq!(
        bed.sweep(START.after(7 * DAY).before(Duration::from_millis(1)))
            .await,
        0
    );
    let mut changes = bed.changes().await;
    let week = START.after(7 * DAY);
    bed.sweep(week).await;
    assert_eq!(changes.recv().await, Some(Change::Inbox(id("box"))));
    assert_eq!(bed.subjects("box", week).await, ["second", "third"]);
    bed.sweep(week.after(HOUR)).await;
    assert_eq!(bed.subjects("box", week).await, ["third"]);
    assert_eq!(
        bed.subjects("archive", week).await,
        ["first", "second", "third"],
        "the shared contents stay"
    );
    bed.sweep(week.after(30 * DAY)).await;
    assert_eq!(bed.subjects("box", week).await, [""; 0]);
    assert_eq!(bed.store.retention_days(&inbox).await.unwrap(), Some(7));
}

#[testkit::each_engine]
async fn the_retention_ends_with_the_project(bed: Bed) {
    let inbox = permanent(bed.project("shop").await, "box");
    assert!(bed.store.create_inbox(&inbox).await.unwrap());
    assert!(bed.store.set_retention_days(&inbox, Some(7)).await.unwrap());
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    assert_eq!(bed.store.retention_days(&inbox).await.unwrap(), None);
}

#[testkit::each_engine]
async fn a_full_inbox_takes_mail_again_when_its_old_messages_have_gone(bed: Bed) {
    kept_for(&bed, "box", Some(1)).await;
    for _ in 0..FULL {
        bed.mail(&["box"], "old", START).await;
    }
    let next = [delivery(&["box"], "new")];
    let refused = bed.deliver(&next, START).await;
    assert!(
        matches!(refused[0], Verdict::Refused(Refusal::Full(_))),
        "{refused:?}"
    );
    let later = START.after(DAY);
    bed.sweep(later).await;
    bed.store(&next, later).await;
    assert_eq!(bed.subjects("box", later).await, ["new"]);
    assert_eq!(
        bed.store.stored().await.unwrap(),
        (1, 1),
        "the old ones are removed from the database"
    );
}

#[testkit::each_engine]
async fn old_messages_go_in_small_steps(bed: Bed) {
    for name in 0..30 {
        kept_for(&bed, &format!("box-{name}"), Some(1)).await;
        bed.mail(&[&format!("box-{name}")], "x", START).await;
    }
    assert!(bed.sweep(START.after(DAY)).await >= 2);
    assert_eq!(bed.store.stored().await.unwrap(), (0, 0));
}

#[testkit::each_engine]
async fn retention_is_for_live_permanent_inboxes_and_ends_with_them(bed: Bed) {
    let temporary = bed.inbox(bed.default_project, "temporary").await;
    assert!(
        !bed.store
            .set_retention_days(&temporary, Some(1))
            .await
            .unwrap()
    );
    let inbox = kept_for(&bed, "box", Some(1)).await;
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    assert!(!bed.store.set_retention_days(&inbox, Some(1)).await.unwrap());
    assert!(bed.store.claim_inbox(&inbox).await.unwrap().is_some());
    assert_eq!(
        bed.store.retention_days(&inbox).await.unwrap(),
        None,
        "a new life keeps its messages"
    );
}
