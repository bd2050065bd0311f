//! An inbox that another transaction holds delays only its own mail, and mail that was refused is not stored later.

use std::time::{Duration, Instant};

use restante::clock::Clock;
use restante::service::Service;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bed::{client, mail, scale, service};
use testkit::postgres::TestDatabase;

/// How many seconds an inbox is held. Longer values (8, 48) test more limits.
const SECONDS: &str = "RESTANTE_TEST_HELD_SECONDS";
/// Maximum time that mail for another inbox may take. Below the lock_timeout of a session, 5 s, which would end its
/// wait for the held inbox.
const PROMPT: Duration = Duration::from_millis(4_500);
/// How long an SMTP client waits.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Messages for the held inbox.
const HELD: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_is_held_keeps_no_other_mail_waiting() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    for inbox in ["held", "free"] {
        node.deliver(mail(inbox, "before")).await.unwrap();
    }
    let holder = client(&database).await;
    holder.batch_execute("BEGIN; SELECT 1 FROM inboxes WHERE id = 'held' FOR UPDATE").await.unwrap();
    let summary = hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
    println!("{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_another_session_is_creating_keeps_no_other_mail_waiting() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    node.deliver(mail("free", "before")).await.unwrap();
    let holder = client(&database).await;
    let create = "BEGIN; INSERT INTO inboxes (id, project_id, kind, created_at, expires_at)
        SELECT 'held', id, 'temporary', 0, 9000000000000 FROM projects";
    holder.batch_execute(create).await.unwrap();
    let summary = hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
    println!("{summary}");
}

/// Sends mail to the held inbox and to others for some seconds, releases the inbox, and compares the answers with the
/// stored messages.
async fn hold_and_check<E: std::fmt::Debug>(
    node: &Service,
    database: &TestDatabase,
    release: impl AsyncFnOnce() -> Result<(), E>,
) -> String {
    let mut waiting: Vec<JoinHandle<bool>> = Vec::new();
    for number in 0..HELD {
        let (node, mail) = (node.clone(), mail("held", &format!("held {number}")));
        // Every second client disconnects early.
        let patience = if number % 2 == 0 { Duration::from_millis(1_200) } else { CLIENT_TIMEOUT };
        waiting.push(tokio::spawn(async move { matches!(timeout(patience, node.deliver(mail)).await, Ok(Ok(_))) }));
    }
    let (start, mut slowest, mut sent) = (Instant::now(), Duration::ZERO, 0);
    while start.elapsed() < Duration::from_secs(scale(SECONDS, 2)) {
        let sending = Instant::now();
        let inbox = if sent % 2 == 0 { "free".to_owned() } else { format!("new-{sent}") };
        node.deliver(mail(&inbox, &format!("free {sent}"))).await.unwrap();
        node.check_health().await.unwrap();
        slowest = slowest.max(sending.elapsed());
        sent += 1;
    }
    assert!(slowest < PROMPT, "mail for another inbox took {slowest:?}");
    release().await.unwrap();

    let mut stored = 0;
    for answer in waiting {
        stored += usize::from(answer.await.unwrap());
    }
    // This is written after everything that might still be running.
    node.deliver(mail("held", "held last")).await.unwrap();
    let found = database.run("SELECT subject FROM messages WHERE subject LIKE 'held %'");
    assert_eq!(found.len(), stored + 1, "{found:?}");
    assert!(scale(SECONDS, 2) >= 25 || stored == HELD / 2);
    assert_eq!(database.run("SELECT subject FROM messages WHERE subject LIKE 'free %'").len(), sent);
    format!("{stored} of {HELD} messages for the inbox, and {sent} for others, of which the slowest took {slowest:?}")
}

/// A connection whose statement waits for a lock is not given to the next caller.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_given_up_leaves_no_connection_and_no_lock_behind() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    let inboxes: Vec<String> = (0..8).map(|number| format!("held-{number}")).collect();
    for inbox in &inboxes {
        node.deliver(mail(inbox, "before")).await.unwrap();
    }
    let holder = client(&database).await;
    holder.batch_execute("BEGIN; SELECT 1 FROM inboxes FOR UPDATE").await.unwrap();
    let held = inboxes.iter().map(|inbox| timeout(Duration::from_millis(1_200), node.deliver(mail(inbox, "given up"))));
    assert!(futures_util::future::join_all(held).await.iter().all(Result::is_err));
    timeout(PROMPT, node.deliver(mail("free", "free"))).await.unwrap().unwrap();
    holder.batch_execute("COMMIT").await.unwrap();
    for inbox in &inboxes {
        timeout(PROMPT, node.deliver(mail(inbox, "after"))).await.unwrap().unwrap();
    }
    assert_eq!(database.run("SELECT subject FROM messages WHERE subject = 'given up'").len(), 0);
}
