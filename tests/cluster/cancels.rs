//! An administrator, a script or a time limit of the server cancels statements at any moment.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use restante::clock::Clock;

use super::bed::{client, mail, scale, service};
use testkit::postgres::TestDatabase;

const WRITERS: usize = 8;
const INBOXES: usize = 3;
/// Cancels each statement of a node that is running or has just run.
const CANCEL: &str = "
    SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'restante' AND backend_type = 'client backend'
        AND (state <> 'idle' OR random() < 0.3)";

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_statements_store_nothing_twice_and_leave_nothing_behind() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    let cancels = scale("RESTANTE_TEST_CANCELS", 1_000);
    let number = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let node = node.clone();
            let number = Arc::clone(&number);
            let is_over = Arc::clone(&is_over);
            tokio::spawn(async move {
                let mut stored = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    let number = number.fetch_add(1, Ordering::SeqCst);
                    let subject = number.to_string();
                    let inbox = format!("inbox-{}", number % INBOXES as u64);
                    if node.deliver(mail(&inbox, &subject)).await.is_ok() {
                        stored.push(subject);
                    }
                }
                stored
            })
        })
        .collect();
    let administrator = client(&database).await;
    let mut cancelled = 0;
    while cancelled < cancels {
        let count: i64 = administrator.query_one(CANCEL, &[]).await.unwrap().get(0);
        cancelled += u64::try_from(count).unwrap();
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    is_over.store(true, Ordering::SeqCst);
    let mut acknowledged = HashSet::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    let subjects = database.run("SELECT subject FROM messages");
    println!(
        "{cancelled} cancels, {} of {} messages acknowledged",
        acknowledged.len(),
        number.load(Ordering::SeqCst)
    );
    assert_eq!(
        subjects.iter().collect::<HashSet<_>>().len(),
        subjects.len(),
        "stored twice"
    );
    assert!(
        acknowledged
            .iter()
            .all(|subject| subjects.contains(subject)),
        "lost"
    );
    let orphans = "SELECT number::text FROM contents WHERE number NOT IN (SELECT content_number FROM messages)";
    assert_eq!(
        database.run(orphans),
        Vec::<String>::new(),
        "contents without a message"
    );
    let wrong = "SELECT id FROM inboxes JOIN (
            SELECT inbox_number, count(*) AS count, max(sequence) AS last, min(sequence) AS first
            FROM messages GROUP BY inbox_number) AS found ON found.inbox_number = inboxes.number
        WHERE message_count <> count OR last_sequence <> last OR first <> 1 OR last <> count";
    assert_eq!(
        database.run(wrong),
        Vec::<String>::new(),
        "inboxes with wrong counts or sequences"
    );
    assert!(
        acknowledged.len() as u64 > number.load(Ordering::SeqCst) / 10,
        "almost nothing was stored"
    );
}

#[tokio::test]
async fn contents_without_a_message_are_removed() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    node.deliver(mail("a", "kept")).await.unwrap();
    node.stop().await;
    database.run("INSERT INTO contents (trace, reverse_path, data) SELECT '', '', '' FROM generate_series(1, 3)");
    let node = service(&database.text(), Clock::system()).await;
    let count = "SELECT count(*)::text FROM contents";
    tokio::task::spawn_blocking(move || {
        testkit::eventually("they are removed", || database.run(count) == ["1"]);
    })
    .await
    .unwrap();
    drop(node);
}
