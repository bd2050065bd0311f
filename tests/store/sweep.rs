//! Sweeping removes expired data, in small steps, and nothing else.

use std::path::Path;
use std::time::Duration;

use restante::model::Timestamp;
use restante::store::Delivery;

use testkit::{Engine, Start};

use super::bed::{Bed, HOUR, START, content, delivery, id};

const END: Timestamp = Timestamp::from_millis(START.as_millis() + 3_600_000);

#[testkit::each_engine]
async fn what_has_expired_is_removed_step_by_step(bed: Bed) {
    for inbox in 0..50 {
        for _ in 0..5 {
            bed.mail(&[&format!("box-{inbox}")], "x", START).await;
        }
    }
    assert_eq!(bed.sweep(START).await, 0);
    assert_eq!(bed.store.stored().await.unwrap(), (250, 250));
    assert!(bed.sweep(END).await >= 10, "250 messages, 25 a step");
    assert_eq!(bed.store.stored().await.unwrap(), (0, 0));
}

#[testkit::each_engine]
async fn a_shared_content_goes_with_its_last_message(bed: Bed) {
    let inboxes = [
        bed.inbox(bed.default_project, "a").await,
        bed.inbox(bed.default_project, "b").await,
    ];
    bed.mail(&["a", "b"], "x", START).await;
    for (inbox, left) in inboxes.iter().zip([(1, 1), (0, 0)]) {
        assert!(bed.store.end_inbox(inbox, START).await.unwrap());
        bed.sweep(START).await;
        assert_eq!(bed.store.stored().await.unwrap(), left);
    }
    bed.mail(&["c", "d"], "x", START).await;
    let d = bed.live("d", START).await.unwrap();
    assert!(bed.store.end_inbox(&d, START).await.unwrap());
    bed.sweep(START).await;
    assert_eq!(
        bed.subjects("c", START).await,
        ["x"],
        "the first recipient's content stays"
    );
}

#[testkit::each_engine]
async fn a_deleted_message_takes_its_content_along_and_is_swept_with_its_inbox(bed: Bed) {
    let ids = bed.mail(&["a", "b"], "shared", START).await;
    let other = bed.project("other").await;
    assert!(
        !bed.store
            .delete_message(other, ids[0], START)
            .await
            .unwrap()
    );
    for (id, contents) in ids.iter().zip([1, 0]) {
        assert!(
            bed.store
                .delete_message(bed.default_project, *id, START)
                .await
                .unwrap()
        );
        assert!(
            !bed.store
                .delete_message(bed.default_project, *id, START)
                .await
                .unwrap(),
            "only once"
        );
        assert_eq!(
            bed.store.stored().await.unwrap(),
            (2, contents),
            "the rows stay as cursors"
        );
    }
    assert!(
        bed.store
            .cursor(&id("a"), ids[0], START)
            .await
            .unwrap()
            .is_some()
    );
    bed.sweep(END).await;
    assert_eq!(bed.store.stored().await.unwrap(), (0, 0));
}

#[testkit::each_engine]
async fn a_reservation_ends_after_thirty_days(bed: Bed) {
    let project = bed.project("shop").await;
    let inbox = bed.inbox(project, "box").await;
    bed.mail(&["box"], "x", START).await;
    let month = Duration::from_secs(30 * 24 * 3_600);
    bed.sweep(END.after(month).before(Duration::from_millis(1)))
        .await;
    assert!(
        !bed.store.create_inbox(&inbox).await.unwrap(),
        "still reserved"
    );
    bed.sweep(END.after(month)).await;
    assert!(bed.store.create_inbox(&inbox).await.unwrap(), "free again");
    assert!(
        bed.store
            .delete_project("shop", END.after(month))
            .await
            .unwrap()
    );
    bed.sweep(END.after(3 * month)).await;
    assert!(
        bed.store
            .projects(END)
            .await
            .unwrap()
            .iter()
            .all(|project| project.name != "shop")
    );
}

#[testkit::each_engine]
async fn a_live_inbox_is_left_alone(bed: Bed) {
    bed.mail(&["old"], "x", START).await;
    bed.mail(&["young"], "y", START.after(HOUR / 2)).await;
    bed.sweep(END).await;
    assert_eq!(bed.subjects("young", END).await, ["y"]);
    assert_eq!(bed.store.stored().await.unwrap(), (1, 1));
}

#[testkit::each_engine]
async fn messages_of_a_former_life_are_removed_and_new_ones_kept(bed: Bed) {
    bed.mail(&["box"], "old", START).await;
    bed.mail(&["box"], "new", END).await;
    bed.sweep(END).await;
    assert_eq!(bed.subjects("box", END).await, ["new"]);
    assert_eq!(bed.store.stored().await.unwrap(), (1, 1));
}

/// The free pages of SQLite's file; PostgreSQL vacuums its tables automatically.
#[tokio::test]
async fn the_space_of_removed_messages_is_used_again() {
    Bed::test(Engine::Sqlite, async |bed: Bed| {
        let raw = format!("Subject: x\r\n\r\n{}\r\n", "word ".repeat(4_000));
        let mail = Delivery {
            content: content(raw.as_bytes()),
            ..delivery(&["box"], "")
        };
        let mut now = START;
        let mut sizes = Vec::new();
        for _ in 0..4 {
            for _ in 0..10 {
                bed.store(&vec![mail.clone(); 5], now).await;
                now = now.after(HOUR);
            }
            bed.sweep(now).await;
            assert_eq!(bed.store.stored().await.unwrap(), (0, 0));
            sizes.push(pages(&bed.file()));
        }
        assert!(
            sizes[0] > 50 && sizes[3] <= sizes[0] + sizes[0] / 10,
            "{sizes:?}"
        );
    })
    .await;
}

/// The pages of the database file, including those that are only in its log.
fn pages(file: &Path) -> i64 {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap()
}
