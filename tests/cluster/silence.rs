//! Frozen back ends, and a missing standby: what is refused, for how long, and what the health
//! check reports.

use std::process::Command;
use std::time::{Duration, Instant};

use restante::clock::Clock;
use restante::db::{Database, DatabaseError};
use tokio::time::timeout;

use super::bed::{START, client, mail, service};
use testkit::postgres::{Cluster, TestDatabase};

/// The time within which a frozen connection is replaced.
const REPLACED: Duration = Duration::from_secs(10);

/// Stops processes until it is dropped.
struct Frozen(Vec<String>);

impl Frozen {
    /// Freezes every back end that serves a node on `database`.
    fn all(database: &TestDatabase) -> Self {
        let frozen = Self(database.run(
            "SELECT pid::text FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'restante'",
        ));
        assert!(!frozen.0.is_empty());
        frozen.signal("-STOP");
        frozen
    }

    fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .arg(signal)
                .args(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // Some may have ended.
        let _ = Command::new("kill")
            .arg("-CONT")
            .args(&self.0)
            .stderr(std::process::Stdio::null())
            .status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_backends_are_replaced_and_health_fails_meanwhile() {
    // Its own cluster: the others' tests would wait for the frozen processes when they drop their
    // databases.
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let node = service(&database.text(), Clock::system()).await;
    let other = Database::open(&database.url()).await.unwrap();
    node.deliver(mail("a", "before")).await.unwrap();
    let frozen = Frozen::all(&database);

    let start = Instant::now();
    let checked = node.check_health().await;
    // Without its own limit, it would end with the statement, after 8 s.
    assert!(
        checked.is_err() && start.elapsed() < Duration::from_secs(4),
        "{checked:?} {:?}",
        start.elapsed()
    );
    let refused = node.deliver(mail("a", "refused")).await;
    let mut tries = 0;
    let given_up = start.elapsed();
    if refused.is_err() {
        while node.deliver(mail("a", "after")).await.is_err() {
            tries += 1;
        }
    }
    println!(
        "given up after {given_up:?}; mail is taken again after {:?} and {tries} tries",
        start.elapsed()
    );
    assert!(start.elapsed() < 2 * REPLACED, "{:?}", start.elapsed());
    node.check_health().await.unwrap();
    // The session too: it grants a lock.
    let taken = async { while other.locks().try_lock(1).await.is_err() {} };
    timeout(REPLACED, taken)
        .await
        .expect("the session is replaced");

    drop(frozen);
    node.deliver(mail("a", "last")).await.unwrap();
    let mut subjects = database.run("SELECT subject FROM messages");
    subjects.dedup();
    assert!(
        !subjects.contains(&"refused".to_owned()) || refused.is_ok(),
        "{subjects:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_synchronous_standby_is_absent_health_fails() {
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let clock = Clock::manual(START);
    let node = service(&database.text(), clock.clone()).await;
    node.deliver(mail("a", "before")).await.unwrap();
    let set = |names: &str| {
        database.run(&format!(
            "ALTER SYSTEM SET synchronous_standby_names = '{names}'"
        ));
        database.run("SELECT pg_reload_conf()::text");
    };
    set("absent");
    let watcher = client(&database).await;
    let deliver = || {
        let node = node.clone();
        tokio::spawn(async move { node.deliver(mail("a", "waiting")).await })
    };
    let mut waiting = deliver();
    let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()";
    while watcher.query(waits, &[]).await.unwrap().is_empty() {
        // PostgreSQL may read its configuration only after the commit.
        if waiting.is_finished() {
            waiting = deliver();
        }
        tokio::task::yield_now().await;
    }
    node.check_health().await.unwrap();
    clock.advance(Duration::from_secs(5));
    assert!(
        node.check_health().await.is_err(),
        "a commit has been waiting for five seconds"
    );
    set("");
    waiting.await.unwrap().unwrap();
    node.check_health().await.unwrap();
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let database = TestDatabase::create();
    let name = format!("latin_{}", std::process::id());
    database.run(&format!(
        "CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    ));
    let (place, options) = database
        .text()
        .split_once('?')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let url = format!("{}/{name}?{options}", place.rsplit_once('/').unwrap().0);
    let opened = Database::open(&url.parse().unwrap()).await;
    assert!(
        matches!(&opened, Err(DatabaseError::Encoding(found)) if found == "LATIN1"),
        "{opened:?}"
    );
    drop(opened);
    database.run(&format!("DROP DATABASE {name} WITH (FORCE)"));
}

/// The lock of a migration that takes longer than any other statement may.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_during_a_long_migration_waits() {
    const MIGRATING: i64 = 0x7265_7374_616e_7401;
    let database = TestDatabase::create();
    let holder = client(&database).await;
    holder
        .execute("SELECT pg_advisory_lock($1)", &[&MIGRATING])
        .await
        .unwrap();
    let url = database.text();
    let mut starting = tokio::spawn(async move { service(&url, Clock::system()).await });
    let seconds = super::bed::scale("RESTANTE_TEST_MIGRATION_SECONDS", 9);
    assert!(
        timeout(Duration::from_secs(seconds), &mut starting)
            .await
            .is_err(),
        "it starts without the migration"
    );
    holder
        .execute("SELECT pg_advisory_unlock($1)", &[&MIGRATING])
        .await
        .unwrap();
    starting
        .await
        .unwrap()
        .deliver(mail("a", "started"))
        .await
        .unwrap();
}
