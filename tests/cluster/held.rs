//! Mail for an inbox that another transaction holds is rejected for now and not stored later; mail
//! for other inboxes is stored.

use std::time::{Duration, Instant};

use restante::clock::Clock;
use restante::service::Service;
use tokio::task::JoinHandle;

use super::bed::{client, mail, scale, service};
use testkit::postgres::TestDatabase;

/// How many seconds an inbox is held at least. Longer values (8, 48) test more limits.
const SECONDS: &str = "RESTANTE_TEST_HELD_SECONDS";
/// Creates the held inbox, without a commit.
const CREATE: &str = "BEGIN; INSERT INTO inboxes (id, project_id, kind, created_at, expires_at)
    SELECT 'held', id, 'temporary', 0, 9000000000000 FROM projects";
/// Messages for the held inbox. The clients of every second one disconnect early.
const HELD: usize = 20;
/// Messages for other inboxes while it is held.
const FREE: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_is_held_keeps_no_other_mail_waiting() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    for inbox in ["held", "free"] {
        node.deliver(mail(inbox, "before")).await.unwrap();
    }
    let holder = client(&database).await;
    holder
        .batch_execute("BEGIN; SELECT 1 FROM inboxes WHERE id = 'held' FOR UPDATE")
        .await
        .unwrap();
    hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_another_session_is_creating_keeps_no_other_mail_waiting() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    node.deliver(mail("free", "before")).await.unwrap();
    let holder = client(&database).await;
    holder.batch_execute(CREATE).await.unwrap();
    hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
}

/// Another session creates the inbox and undoes it, while mail waits to open the same one.
#[tokio::test(flavor = "multi_thread")]
async fn mail_opens_an_inbox_whose_creation_was_undone() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    let holder = client(&database).await;
    holder.batch_execute(CREATE).await.unwrap();
    let undone = async {
        while lock_waits(&database).is_empty() {
            tokio::task::yield_now().await;
        }
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    // As its sender would: it is rejected if the other session takes longer than half a second.
    let delivered = async { while node.deliver(mail("held", "first")).await.is_err() {} };
    tokio::join!(delivered, undone);
    assert_eq!(
        database.run("SELECT sequence || ' ' || opened_by_mail FROM messages, inboxes"),
        ["1 1"]
    );
}

/// Sends mail to the held inbox and to others, releases the inbox, and compares the answers with
/// the stored messages.
async fn hold_and_check<E: std::fmt::Debug>(
    node: &Service,
    database: &TestDatabase,
    release: impl AsyncFnOnce() -> Result<(), E>,
) {
    let start = Instant::now();
    let mut waiting: Vec<JoinHandle<bool>> = Vec::new();
    for number in 0..HELD {
        let node = node.clone();
        let mail = mail("held", &format!("held {number}"));
        waiting.push(tokio::spawn(
            async move { node.deliver(mail).await.is_ok() },
        ));
    }
    let mut sent = 0;
    while sent < FREE || start.elapsed() < Duration::from_secs(scale(SECONDS, 0)) {
        let inbox = if sent % 2 == 0 {
            "free".to_owned()
        } else {
            format!("new-{sent}")
        };
        node.deliver(mail(&inbox, &format!("free {sent}")))
            .await
            .unwrap();
        node.check_health().await.unwrap();
        sent += 1;
        if sent == FREE / 2 {
            waiting.iter().step_by(2).for_each(JoinHandle::abort);
        }
    }
    for answer in waiting {
        assert!(!answer.await.unwrap_or(false), "stored in a locked inbox");
    }
    release().await.unwrap();

    // This is written after everything that might still be running.
    node.deliver(mail("held", "held last")).await.unwrap();
    assert_eq!(
        database.run("SELECT subject FROM messages WHERE subject LIKE 'held %'"),
        ["held last"]
    );
    assert_eq!(
        database
            .run("SELECT subject FROM messages WHERE subject LIKE 'free %'")
            .len(),
        sent
    );
}

/// The statements that wait for a lock.
fn lock_waits(database: &TestDatabase) -> Vec<String> {
    database.run(
        "SELECT pid || ' ' || query_start FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
}
