//! Connections that a node does not use are closed, so that several nodes can share a small server
//! or pooler.

use std::time::Duration;

use futures_util::future::join_all;
use restante::db::Database;

use super::node::eventually;
use testkit::postgres::TestDatabase;

const AT_ONCE: usize = 10;

fn connections(database: &TestDatabase) -> usize {
    let count = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'restante'";
    database.run(count)[0].parse().unwrap()
}

#[tokio::test]
async fn a_connection_that_is_idle_for_a_minute_is_closed() {
    let database = TestDatabase::create();
    let node = Database::open(&database.url()).await.unwrap();
    let slow = "SELECT CAST(1 AS BIGINT) FROM (SELECT pg_sleep(0.2)) AS slept";
    for answer in join_all((0..AT_ONCE).map(|_| node.query(slow, vec![]))).await {
        answer.unwrap();
    }
    let control = 1;
    assert_eq!(connections(&database), AT_ONCE + control);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    // The task that closes them runs now.
    tokio::time::sleep(Duration::from_millis(1)).await;
    eventually("they are closed", || connections(&database) <= control);
    assert_eq!(node.query(slow, vec![]).await.unwrap().len(), 1);
}
