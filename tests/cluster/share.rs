//! A node's share of PostgreSQL's lock table: waits beyond it are refused, and sign-ins still work.

use std::time::Duration;

use restante::clock::Clock;
use restante::db::{Database, DatabaseError};
use restante::model::MessageFilter;
use restante::service::{Asked, ServiceError};

use super::bed::{client, scale, service};
use testkit::postgres::{Cluster, TestDatabase};

/// The server's locks per connection; its default is 64.
const LOCKS: &str = "RESTANTE_TEST_LOCKS_PER_TRANSACTION";

/// Longer than the test takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn waits_past_a_node_s_share_of_the_lock_table_are_refused_and_logins_go_on() {
    let locks = scale(LOCKS, 10);
    let cluster = Cluster::start(&[
        &format!("max_locks_per_transaction = {locks}"),
        "max_connections = 54",
        "superuser_reserved_connections = 1",
    ]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let node = service(&database.text(), Clock::system()).await;
    let others = [(); 2].map(|()| async { Database::open(&database.url()).await.unwrap() });
    let others = futures_util::future::join_all(others).await;
    let mut held = Vec::new();
    let mut names = 0..;
    for other in &others {
        let refused = loop {
            match other.locks().try_lock(names.next().unwrap()).await {
                Ok(lock) => held.push(lock.unwrap()),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(refused, DatabaseError::TooManyLocks(most) if most == 16 * usize::try_from(locks).unwrap())
        );
    }
    assert_eq!(held.len() as u64, 2 * 16 * locks);

    // The third node has its own share, which waits of many keys use up.
    let mut waits = Vec::new();
    let refused = loop {
        let key = node
            .projects()
            .create(&format!("project-{}", waits.len()))
            .await
            .unwrap();
        let caller = node.authenticate(key.as_str()).await.unwrap().unwrap();
        let inbox = node.create_inbox(&caller).await.unwrap();
        let wait = async |timeout| {
            let filter = MessageFilter::default();
            node.wait(&caller, &inbox, Asked::once(&filter, timeout))
                .await
        };
        match wait(Duration::from_millis(1)).await {
            Err(ServiceError::Timeout { .. }) => {}
            refused => break refused,
        }
        for _ in 0..4 {
            let node = node.clone();
            let inbox = inbox.clone();
            // A wait that is refused because the short wait below has its slot is tried again.
            waits.push(tokio::spawn(async move {
                let filter = MessageFilter::default();
                while let Err(ServiceError::TooManyWaits | ServiceError::Unavailable) =
                    node.wait(&caller, &inbox, Asked::once(&filter, LONG)).await
                {}
            }));
        }
        while !matches!(
            wait(Duration::from_millis(1)).await,
            Err(ServiceError::TooManyWaits | ServiceError::Unavailable)
        ) {}
    };
    assert!(
        matches!(refused, Err(ServiceError::Unavailable)),
        "{refused:?}"
    );
    assert_eq!(waits.len() as u64, 16 * locks);
    assert!(waits.iter().all(|wait| !wait.is_finished()));
    node.check_health().await.unwrap();
    let clients = futures_util::future::join_all((0..5).map(|_| client(&database))).await;
    assert_eq!(clients.len(), 5, "there is room for logins");
}
