//! Two deployments in one database, each in a schema of its own.

use restante::clock::Clock;
use restante::db::Database;

use super::bed::{mail, service};
use testkit::postgres::TestDatabase;

#[tokio::test(flavor = "multi_thread")]
async fn deployments_in_two_schemas_share_no_locks_and_no_notifications() {
    let database = TestDatabase::create();
    let urls = ["one", "two"].map(|schema| {
        database.run(&format!("CREATE SCHEMA {schema}"));
        format!("{}&options=-csearch_path%3D{schema}", database.text())
    });
    let nodes = [
        service(&urls[0], Clock::system()).await,
        service(&urls[1], Clock::system()).await,
    ];
    for (node, schema) in nodes.iter().zip(["one", "two"]) {
        node.deliver(mail("a", schema)).await.unwrap();
        assert_eq!(
            database.run(&format!("SELECT subject FROM {schema}.messages")),
            [schema]
        );
    }
    let [one, two] = urls
        .each_ref()
        .map(|url| async { Database::open(&url.parse().unwrap()).await.unwrap() });
    let one = one.await;
    let again = Database::open(&urls[0].parse().unwrap()).await.unwrap();
    let two = two.await;
    let held = one.locks().try_lock(7).await.unwrap();
    assert!(held.is_some() && again.locks().try_lock(7).await.unwrap().is_none());
    assert!(
        two.locks().try_lock(7).await.unwrap().is_some(),
        "the other deployment has its own locks"
    );
}
