//! An inbox that another transaction holds delays only its own mail, and mail that was refused is
//! not stored later.

use std::time::{Duration, Instant};

use restante::clock::Clock;
use restante::service::Service;
use tokio::task::JoinHandle;
use tokio::time::timeout;

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
/// How long a delivery waits for its inbox before its client gets an error.
const GIVEN_UP: Duration = Duration::from_secs(25);
/// Ends a test that would hang.
const HANGS: Duration = Duration::from_secs(60);

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
    let summary = hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
    println!("{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_another_session_is_creating_keeps_no_other_mail_waiting() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    node.deliver(mail("free", "before")).await.unwrap();
    let holder = client(&database).await;
    holder.batch_execute(CREATE).await.unwrap();
    let summary = hold_and_check(&node, &database, || holder.batch_execute("COMMIT")).await;
    println!("{summary}");
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
    let (delivered, ()) = tokio::join!(node.deliver(mail("held", "first")), undone);
    delivered.unwrap();
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
) -> String {
    let start = Instant::now();
    let mut waiting: Vec<JoinHandle<bool>> = Vec::new();
    for number in 0..HELD {
        let (node, mail) = (node.clone(), mail("held", &format!("held {number}")));
        waiting.push(tokio::spawn(
            async move { node.deliver(mail).await.is_ok() },
        ));
    }
    let (mut sent, mut overtaken) = (0, 0);
    while sent < FREE || start.elapsed() < Duration::from_secs(scale(SECONDS, 0)) {
        let before = lock_waits(database);
        let inbox = if sent % 2 == 0 {
            "free".to_owned()
        } else {
            format!("new-{sent}")
        };
        node.deliver(mail(&inbox, &format!("free {sent}")))
            .await
            .unwrap();
        node.check_health().await.unwrap();
        overtaken += usize::from(
            lock_waits(database)
                .iter()
                .any(|wait| before.contains(wait)),
        );
        sent += 1;
        if sent == FREE / 2 {
            waiting.iter().step_by(2).for_each(JoinHandle::abort);
        }
    }
    // If the mail had to wait until the wait for the lock ends, none would overtake it.
    assert!(
        overtaken > sent / 2,
        "{overtaken} of {sent} messages were stored while another waited for its inbox"
    );
    let in_time = start.elapsed() < GIVEN_UP;
    release().await.unwrap();

    let mut stored = 0;
    for answer in waiting {
        stored += usize::from(answer.await.unwrap_or(false));
    }
    // This is written after everything that might still be running.
    node.deliver(mail("held", "held last")).await.unwrap();
    let found = database.run("SELECT subject FROM messages WHERE subject LIKE 'held %'");
    assert_eq!(found.len(), stored + 1, "{found:?}");
    assert!(!in_time || stored == HELD / 2, "{stored}");
    assert_eq!(
        database
            .run("SELECT subject FROM messages WHERE subject LIKE 'free %'")
            .len(),
        sent
    );
    format!(
        "{stored} of {HELD} messages for the inbox, and {sent} for others, of which {overtaken} overtook one"
    )
}

/// The statements that wait for a lock.
fn lock_waits(database: &TestDatabase) -> Vec<String> {
    database.run(
        "SELECT pid || ' ' || query_start FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
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
    holder
        .batch_execute("BEGIN; SELECT 1 FROM inboxes FOR UPDATE")
        .await
        .unwrap();
    let held = inboxes
        .iter()
        .map(|inbox| node.deliver(mail(inbox, "given up")));
    let waits = async {
        // One waits with its batch; several wait in their lanes.
        while lock_waits(&database).len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answers = futures_util::future::join_all(held) => panic!("{answers:?}"),
        () = waits => {}
    }
    timeout(HANGS, node.deliver(mail("free", "free")))
        .await
        .unwrap()
        .unwrap();
    holder.batch_execute("COMMIT").await.unwrap();
    for inbox in &inboxes {
        timeout(HANGS, node.deliver(mail(inbox, "after")))
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(
        database
            .run("SELECT subject FROM messages WHERE subject = 'given up'")
            .len(),
        0
    );
}

/// Each of them needs a connection, and so has the lane of another.
#[tokio::test(flavor = "multi_thread")]
async fn several_locked_inboxes_do_not_delay_the_mail_of_another() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    let locked = ["locked-1", "locked-2", "locked-3", "locked-4", "locked-5"];
    for inbox in [&locked[..], &["other"]].concat() {
        node.deliver(mail(inbox, "before")).await.unwrap();
    }
    let (holder, brief) = (client(&database).await, client(&database).await);
    holder
        .batch_execute("BEGIN; SELECT 1 FROM inboxes WHERE id LIKE 'locked-%' FOR UPDATE")
        .await
        .unwrap();
    brief
        .batch_execute("BEGIN; SELECT 1 FROM inboxes WHERE id = 'other' FOR UPDATE")
        .await
        .unwrap();
    let mut waiting = Vec::new();
    for inbox in locked {
        let node = node.clone();
        waiting.push(tokio::spawn(async move {
            node.deliver(mail(inbox, "held")).await.is_ok()
        }));
    }
    let all_wait = async |count| {
        while lock_waits(&database).len() < count {
            tokio::task::yield_now().await;
        }
    };
    timeout(GIVEN_UP / 2, all_wait(locked.len()))
        .await
        .expect("each lane has a connection");
    let other = {
        let node = node.clone();
        tokio::spawn(async move { node.deliver(mail("other", "other")).await.is_ok() })
    };
    timeout(GIVEN_UP / 2, all_wait(locked.len() + 1))
        .await
        .expect("the lane of the other has one, too");
    brief.batch_execute("COMMIT").await.unwrap();
    assert!(other.await.unwrap());
    assert!(
        waiting.iter().all(|waiting| !waiting.is_finished()),
        "the others still wait"
    );
    holder.batch_execute("COMMIT").await.unwrap();
    for answer in waiting {
        assert!(answer.await.unwrap());
    }
}
