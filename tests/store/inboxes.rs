//! Inboxes: identity, ownership, end.

use std::time::Duration;

use restante::model::{Inbox, InboxKind, ProjectId, Timestamp};

use super::bed::{Bed, HOUR, START, id};

#[testkit::each_engine]
async fn an_id_is_given_once(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    assert!(!bed.store.create_inbox(&inbox).await.unwrap());
    let later = START.after(HOUR);
    let again = Inbox {
        created_at: later,
        expires_at: Some(later.after(HOUR)),
        ..inbox
    };
    assert!(
        !bed.store.create_inbox(&again).await.unwrap(),
        "an ended inbox reserves its id"
    );
}

#[testkit::each_engine]
async fn an_inbox_is_its_project_s_alone(bed: Bed) {
    let one = bed.project("one").await;
    let other = bed.project("other").await;
    let inbox = bed.inbox(one, "box").await;
    assert_eq!(
        bed.store.inbox(one, &inbox.id, START).await.unwrap(),
        Some(inbox.clone())
    );
    assert_eq!(
        bed.store.inbox(other, &inbox.id, START).await.unwrap(),
        None
    );
    let message = bed.mail(&["box"], "x", START).await[0];
    assert!(bed.message(one, message, START).await.unwrap().is_some());
    assert!(bed.message(other, message, START).await.unwrap().is_none());
    assert_eq!(bed.raw(other, message).await, None);
}

#[testkit::each_engine]
async fn an_inbox_ends_at_its_hour(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    let message = bed.mail(&["box"], "x", START).await[0];
    let last = START.after(HOUR).before(Duration::from_millis(1));
    let end = START.after(HOUR);
    assert!(bed.live("box", last).await.is_some());
    assert!(
        bed.message(inbox.project, message, last)
            .await
            .unwrap()
            .is_some()
    );
    assert!(bed.live("box", end).await.is_none());
    assert!(
        bed.message(inbox.project, message, end)
            .await
            .unwrap()
            .is_none()
    );
}

#[testkit::each_engine]
async fn an_ended_inbox_is_gone_with_its_messages(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    let message = bed.mail(&["box"], "x", START).await[0];
    let mut changes = bed.changes().await;
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    assert_eq!(
        changes.recv().await,
        Some(restante::store::Change::Inbox(id("box")))
    );
    assert!(!bed.store.end_inbox(&inbox, START).await.unwrap());
    assert!(bed.live("box", START).await.is_none());
    assert!(
        bed.message(inbox.project, message, START)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        bed.store
            .cursor(&inbox.id, message, START)
            .await
            .unwrap()
            .is_none()
    );

    let permanent = permanent(bed.default_project, "permanent");
    assert!(bed.store.create_inbox(&permanent).await.unwrap());
    assert_eq!(
        bed.live("permanent", START.after(100 * HOUR)).await,
        Some(permanent)
    );
}

/// A permanent inbox that is not stored yet.
pub fn permanent(project: ProjectId, name: &str) -> Inbox {
    Inbox {
        id: id(name),
        shared: None,
        project,
        kind: InboxKind::Permanent,
        created_at: START,
        expires_at: None,
    }
}

#[testkit::each_engine]
async fn a_permanent_inbox_lives_until_it_is_ended(bed: Bed) {
    let inbox = permanent(bed.default_project, "box");
    assert!(bed.store.claim_inbox(&inbox).await.unwrap().is_some());
    assert!(
        bed.store.claim_inbox(&inbox).await.unwrap().is_none(),
        "it lives"
    );
    let later = START.after(1_000 * HOUR);
    bed.mail(&["box"], "x", later).await;
    bed.sweep(later).await;
    assert_eq!(bed.live("box", later).await, Some(inbox.clone()));
    assert!(bed.store.end_inbox(&inbox, later).await.unwrap());
    assert!(!bed.store.end_inbox(&inbox, later).await.unwrap());
    assert_eq!(bed.live("box", later).await, None);
}

#[testkit::each_engine]
async fn a_reserved_address_is_claimed_by_its_own_project_only_and_is_empty_again(bed: Bed) {
    let other = bed.project("other").await;
    bed.inbox(bed.default_project, "box").await;
    bed.mail(&["box"], "x", START).await;
    let end = START.after(HOUR);
    let claim = |project| Inbox {
        created_at: end,
        ..permanent(project, "box")
    };
    assert!(
        bed.store
            .claim_inbox(&permanent(bed.default_project, "box"))
            .await
            .unwrap()
            .is_none(),
        "it lives"
    );
    assert!(
        bed.store
            .claim_inbox(&claim(other))
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        bed.store
            .claim_inbox(&claim(bed.default_project))
            .await
            .unwrap()
            .is_some()
    );
    assert!(bed.subjects("box", end).await.is_empty());
    bed.mail(&["box"], "new", end).await;
    assert_eq!(bed.subjects("box", end.after(2 * HOUR)).await, ["new"]);
}

#[testkit::each_engine]
async fn an_inbox_with_a_tag_is_claimed_by_the_owner_of_its_base_only(bed: Bed) {
    let owner = bed.project("owner").await;
    let other = bed.project("other").await;
    bed.inbox(owner, "box").await;
    let end = START.after(HOUR);
    for now in [START, end] {
        let claim = |project| Inbox {
            created_at: now,
            ..permanent(project, "box+news")
        };
        assert!(
            bed.store
                .claim_inbox(&claim(other))
                .await
                .unwrap()
                .is_none()
        );
        assert!(
            bed.store
                .claim_inbox(&claim(owner))
                .await
                .unwrap()
                .is_some()
        );
        assert!(bed.store.end_inbox(&claim(owner), now).await.unwrap());
    }
    assert!(
        bed.store
            .claim_inbox(&permanent(other, "nothing+news"))
            .await
            .unwrap()
            .is_some(),
        "it has no base"
    );
}

#[testkit::each_engine]
async fn a_project_has_one_inbox_with_a_shared_address(bed: Bed) {
    let one = bed.project("one").await;
    let other = bed.project("other").await;
    let inbox = bed.shared(one, "ada@example.com").await;
    let wanted = |project, name: &str| Inbox {
        shared: inbox.shared.clone(),
        ..permanent(project, name)
    };
    assert!(
        !bed.store
            .create_inbox(&wanted(one, "second"))
            .await
            .unwrap(),
        "it has one"
    );
    assert!(
        bed.store
            .claim_inbox(&wanted(one, "second"))
            .await
            .unwrap()
            .is_none(),
        "it lives"
    );
    let theirs = bed
        .store
        .claim_inbox(&wanted(other, "theirs"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((theirs.id, theirs.project), (id("theirs"), other));
    // An ended inbox begins again with its own id.
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    let again = bed
        .store
        .claim_inbox(&wanted(one, "third"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((again.id, again.kind), (inbox.id, InboxKind::Permanent));
    assert_eq!(bed.live("third", START).await, None);
}

#[testkit::each_engine]
async fn what_ended_with_a_shared_address_is_forgotten_after_30_days(bed: Bed) {
    let one = bed.project("one").await;
    bed.shared(one, "ada@example.com").await;
    let owner_after = async |time: Duration| {
        let now = START.after(HOUR).after(time);
        bed.sweep(now).await;
        let [holder] = bed
            .mail_to_shared("ada@example.com", now)
            .await
            .try_into()
            .unwrap();
        holder
    };
    assert_eq!(owner_after(29 * 24 * HOUR).await, one);
    // That mail has created the inbox again, for an hour.
    assert_eq!(
        owner_after((29 + 31) * 24 * HOUR).await,
        bed.default_project
    );
}

#[testkit::each_engine]
async fn an_address_is_free_again_when_the_last_of_its_tags_is(bed: Bed) {
    let one = bed.project("one").await;
    let other = bed.project("other").await;
    let wanted = |project, name: &str, now: Timestamp| Inbox {
        id: id(name),
        shared: None,
        project,
        kind: InboxKind::Temporary,
        created_at: now,
        expires_at: Some(now.after(HOUR)),
    };
    let is_claimed = async |project, name: &str, now| {
        let wanted = wanted(project, name, now);
        bed.store.claim_inbox(&wanted).await.unwrap().is_some()
    };
    assert!(is_claimed(one, "shop+otp", START).await);
    assert!(is_claimed(one, "shop+x", START.after(24 * HOUR)).await);
    // The second one ends a day later, and is reserved for 30 days.
    for (days, is_free) in [(0, false), (30, false), (32, true)] {
        let now = START.after(2 * HOUR).after(days * 24 * HOUR);
        bed.sweep(now).await;
        assert_eq!(is_claimed(other, "shop", now).await, is_free, "{days}");
    }
}
