//! What a node does for its locks if its session with the database is lost.

use std::time::Duration;

use restante::config::DatabaseUrl;
use restante::db::{Database, DatabaseError, Transaction};
use tokio_postgres::NoTls;

use super::proxy::{Manner, Proxy};
use testkit::postgres::TestDatabase;

/// Longer than any step takes.
const LONG: Duration = Duration::from_secs(30);
const NAME: i64 = 7;

/// A server may accept a connection and stay silent, as while it starts, or after a load balancer
/// has lost it.
#[tokio::test]
async fn while_the_database_is_silent_no_wait_blocks_on_a_lock() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let node = open(&proxy.url).await;
    let held = within(node.locks().try_lock(NAME)).await.unwrap().unwrap();

    proxy.behave(Manner::Silent);
    within(async {
        while !matches!(
            node.locks().try_lock(NAME + 1).await,
            Err(DatabaseError::SessionLost)
        ) {}
    })
    .await;
    within(held.release()).await;

    proxy.behave(Manner::Plain);
    within(async { while !matches!(node.locks().try_lock(NAME).await, Ok(Some(_))) {} }).await;
}

/// Each node sends a notification to itself when it starts, and hears those of the others.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_may_start_at_the_same_moment() {
    let database = TestDatabase::create();
    let start = || {
        let url = database.url();
        tokio::spawn(async move { Database::open(&url).await })
    };
    for _ in 0..5 {
        for node in futures_util::future::join_all([(); 6].map(|()| start())).await {
            node.unwrap().unwrap();
        }
    }
}

/// A busy node also gets its lost locks back.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lock_is_taken_again_while_others_come_and_go() {
    let database = TestDatabase::create();
    let node = open(&database.text()).await;
    let _held = node.locks().try_lock(NAME).await.unwrap().unwrap();
    let (other, connection) = tokio_postgres::connect(&database.text(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);

    // The other session gets the lock next, when the node's session ends.
    let lock = format!("SELECT pg_advisory_lock({NAME})");
    let end_the_holder = "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE locktype = 'advisory' AND granted AND datname = current_database()";
    let ((), ()) = within(async {
        tokio::join!(async { other.batch_execute(&lock).await.unwrap() }, async {
            while database.named_locks(false) != 1 {
                tokio::task::yield_now().await;
            }
            database.run(end_the_holder);
        })
    })
    .await;
    let is_free =
        || database.run(&format!("SELECT pg_try_advisory_lock_shared({NAME})::text")) == ["true"];
    within(async { while node.locks().try_lock(NAME + 1).await.is_err() {} }).await;
    other
        .batch_execute("SELECT pg_advisory_unlock_all()")
        .await
        .unwrap();
    let busy = async {
        loop {
            drop(node.locks().try_lock(NAME + 1).await);
        }
    };
    let taken_again = async {
        while tokio::task::block_in_place(is_free) {
            tokio::task::yield_now().await;
        }
    };
    within(async {
        tokio::select! {
            () = busy => {}
            () = taken_again => {}
        }
    })
    .await;
}

/// As many locks as the server's table has space for.
#[tokio::test(flavor = "multi_thread")]
async fn many_lost_locks_are_taken_again_in_one_request() {
    const LOCKS: i64 = 960;
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let node = open(&proxy.url).await;
    let mut held = Vec::new();
    for name in 0..LOCKS {
        held.push(within(node.locks().try_lock(name)).await.unwrap().unwrap());
    }
    let before = proxy.flights();
    database.end_connections();
    let taken = async {
        while tokio::task::block_in_place(|| database.named_locks(true)) != held.len() {
            // So that the limit of `within` has an effect.
            tokio::task::yield_now().await;
        }
    };
    within(taken).await;
    let flights = proxy.flights() - before;
    assert!(
        flights < 30,
        "{flights} round trips for a new session with {LOCKS} locks"
    );
    // The server has them before the node knows it; until then a new lock is an error.
    let taken = async {
        loop {
            if let Ok(lock) = node.locks().try_lock(LOCKS).await {
                return lock;
            }
        }
    };
    within(taken).await.expect("a new wait is not delayed");
}

#[tokio::test]
async fn a_statement_that_has_to_sort_is_not_compiled() {
    let database = TestDatabase::create();
    let node = open(&database.text()).await;
    let compiled = "SELECT CAST(current_setting('jit') = 'on' AS INTEGER)";
    assert_eq!(
        node.query(compiled, vec![]).await.unwrap()[0]
            .get::<i64>()
            .unwrap(),
        0
    );
}

/// A request that was lost may have been carried out, so it must not be repeated.
#[tokio::test]
async fn an_error_says_whether_the_database_is_unavailable_or_busy() {
    let database = TestDatabase::create();
    let node = open(&database.text()).await;
    let raised = async |script| {
        let raise =
            async move |mut transaction: Transaction| transaction.execute_script(script).await;
        node.transact(raise).await.unwrap_err()
    };
    assert!(
        raised("DO 'BEGIN RAISE SQLSTATE ''08P01''; END'")
            .await
            .is_unavailable()
    );
    assert!(
        raised("DO 'BEGIN RAISE SQLSTATE ''57P02''; END'")
            .await
            .is_unavailable()
    );
    assert!(
        raised("DO 'BEGIN RAISE SQLSTATE ''57P04''; END'")
            .await
            .is_unavailable()
    );
    assert!(
        raised("DO 'BEGIN RAISE SQLSTATE ''25P04''; END'")
            .await
            .is_unavailable()
    );
    let conflict = raised("DO 'BEGIN RAISE SQLSTATE ''40P01''; END'").await;
    assert!(matches!(conflict, DatabaseError::Conflict(_)), "{conflict}");
    let full = raised("DO 'BEGIN RAISE SQLSTATE ''53100''; END'").await;
    assert!(
        matches!(full, DatabaseError::Exhausted(_)) && full.is_unavailable(),
        "{full}"
    );
    let cancelled = raised("DO 'BEGIN RAISE SQLSTATE ''57014''; END'").await;
    assert!(
        matches!(cancelled, DatabaseError::Cancelled) && cancelled.is_unavailable(),
        "{cancelled}"
    );
    let failure = raised("DO 'BEGIN RAISE SQLSTATE ''22012''; END'").await;
    assert!(
        matches!(failure, DatabaseError::Postgres(_)) && !failure.is_unavailable(),
        "{failure}"
    );
}

async fn open(url: &str) -> Database {
    let url: DatabaseUrl = url.parse().unwrap();
    Database::open(&url).await.unwrap()
}

async fn within<T>(something: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, something)
        .await
        .expect("it takes too long")
}
