//! Inboxes: identity, ownership, end.

use std::time::Duration;

use restante::model::{Inbox, InboxKind};

use super::bed::{Bed, HOUR, START};

pub async fn an_id_is_given_once(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    assert!(!bed.store.create_inbox(&inbox).await.unwrap());
    let later = START.after(HOUR);
    let again = Inbox { created_at: later, expires_at: Some(later.after(HOUR)), ..inbox };
    assert!(!bed.store.create_inbox(&again).await.unwrap(), "an ended inbox reserves its id");
}

pub async fn an_inbox_is_its_project_s_alone(bed: Bed) {
    let (one, other) = (bed.project("one").await, bed.project("other").await);
    let inbox = bed.inbox(one, "box").await;
    assert_eq!(bed.store.inbox(one, &inbox.id, START).await.unwrap(), Some(inbox.clone()));
    assert_eq!(bed.store.inbox(other, &inbox.id, START).await.unwrap(), None);
    let message = bed.mail(&["box"], "x", START).await[0];
    assert!(bed.store.message(one, message, START).await.unwrap().is_some());
    assert!(bed.store.message(other, message, START).await.unwrap().is_none());
    assert!(bed.store.raw_message(other, message, START).await.unwrap().is_none());
}

pub async fn an_inbox_ends_at_its_hour(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    let message = bed.mail(&["box"], "x", START).await[0];
    let (last, end) = (START.after(HOUR).before(Duration::from_millis(1)), START.after(HOUR));
    assert!(bed.live("box", last).await.is_some());
    assert!(bed.store.message(inbox.project, message, last).await.unwrap().is_some());
    assert!(bed.live("box", end).await.is_none());
    assert!(bed.store.message(inbox.project, message, end).await.unwrap().is_none());
}

pub async fn an_ended_inbox_is_gone_with_its_messages(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    let message = bed.mail(&["box"], "x", START).await[0];
    let mut changes = bed.store.changes();
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    assert_eq!(changes.next().await, Some(restante::db::Change::Key("box".to_owned())));
    assert!(!bed.store.end_inbox(&inbox, START).await.unwrap());
    assert!(bed.live("box", START).await.is_none());
    assert!(bed.store.message(inbox.project, message, START).await.unwrap().is_none());
    assert!(bed.store.cursor(&inbox.id, message, START).await.unwrap().is_none());

    let permanent = Inbox { kind: InboxKind::Permanent, expires_at: None, ..inbox };
    let permanent = Inbox { id: super::bed::id("permanent"), ..permanent };
    assert!(bed.store.create_inbox(&permanent).await.unwrap());
    assert!(!bed.store.end_inbox(&permanent, START).await.unwrap());
    assert_eq!(bed.live("permanent", START.after(100 * HOUR)).await, Some(permanent));
}
