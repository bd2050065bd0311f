//! A node whose clock is wrong: it has the time of the database, says that it is not healthy, and
//! harms nobody.

use std::time::Duration;

use restante::clock::Clock;
use restante::db::Database;
use restante::model::{InboxId, OutgoingId, WorkerId};
use restante::service::{Projects, Unhealthy};
use restante::store::{Claim, NewOutgoing, Store};

use super::bed::{mail, service};
use testkit::postgres::TestDatabase;

const HOURS: Duration = Duration::from_secs(2 * 3_600);

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_ends_no_inbox() {
    let database = TestDatabase::create();
    let right = service(&database.text(), Clock::system()).await;
    right
        .deliver(mail("a", "from the right one"))
        .await
        .unwrap();
    let wrong_clock = Clock::ahead_by(HOURS);
    let wrong = service(&database.text(), wrong_clock.clone()).await;
    let health = wrong.check_health().await;
    assert!(
        matches!(health, Err(Unhealthy::Clock(seconds)) if seconds.abs_diff(HOURS.as_secs()) < 5),
        "{health:?}"
    );
    right.check_health().await.unwrap();

    wrong
        .deliver(mail("b", "from the wrong one"))
        .await
        .unwrap();
    let store = Store::open(Database::open(&database.url()).await.unwrap())
        .await
        .unwrap();
    while store.sweep(wrong_clock.now(), HOURS).await.unwrap() == restante::store::Swept::More {}
    for inbox in ["a", "b"] {
        let id = InboxId::parse(inbox).unwrap();
        let found = store
            .live_inbox(&id, right.clock().now())
            .await
            .unwrap()
            .expect("it is live at both");
        let lives = found.expires_at.unwrap().since(right.clock().now());
        assert!(
            lives < HOURS && lives > Duration::from_secs(60),
            "{inbox} lives for {lives:?}"
        );
    }
    assert_eq!(store.stored().await.unwrap(), (2, 2));
}

/// The first answers are so slow that they say little about the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_knows_that_its_clock_is_wrong_even_if_the_database_answers_slowly() {
    let database = TestDatabase::create();
    let slow = "
        CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(0.6); RETURN pg_catalog.clock_timestamp(); END $$";
    database.run(slow);
    let name = &database.run("SELECT current_database()")[0];
    database.run(&format!(
        "ALTER DATABASE {name} SET search_path = public, pg_catalog"
    ));
    let wrong = service(&database.text(), Clock::ahead_by(HOURS)).await;
    assert!(matches!(
        wrong.check_health().await,
        Err(Unhealthy::Clock(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_clock_is_behind_has_the_time_of_the_others_and_sends_nothing() {
    let database = TestDatabase::create();
    let right = service(&database.text(), Clock::system()).await;
    let behind = service(&database.text(), Clock::behind_by(HOURS)).await;
    assert!(matches!(
        behind.check_health().await,
        Err(Unhealthy::Clock(_))
    ));
    behind
        .deliver(mail("a", "from the one behind"))
        .await
        .unwrap();
    let store = Store::open(Database::open(&database.url()).await.unwrap())
        .await
        .unwrap();
    let found = store
        .live_inbox(&InboxId::parse("a").unwrap(), right.clock().now())
        .await
        .unwrap();
    let inbox = found.expect("it is live at both");

    let id = OutgoingId::generate();
    let new = NewOutgoing::new(
        id,
        inbox.project,
        inbox.id,
        "x@example.com".to_owned(),
        String::new(),
        String::new(),
    );
    let new = new.queued(b"x", right.clock().now().after(HOURS));
    store.add_outgoing(&new, right.clock().now()).await.unwrap();
    let claim = || Claim {
        id,
        next_due: right.clock().now().after(HOURS),
    };
    let worker = WorkerId::generate();
    assert_eq!(
        behind
            .outbox()
            .claim(worker, vec![claim()])
            .await
            .unwrap()
            .len(),
        0,
        "it takes no leases"
    );
    assert_eq!(
        right
            .outbox()
            .claim(worker, vec![claim()])
            .await
            .unwrap()
            .len(),
        1
    );
}

/// The command line reads the time of the database, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_overlap_of_keys_ends_by_the_clock_of_the_database() {
    let database = TestDatabase::create();
    let wrong = Projects::open(
        Database::open(&database.url()).await.unwrap(),
        Clock::ahead_by(HOURS),
    )
    .await
    .unwrap();
    wrong.create("shop").await.unwrap();
    wrong.rotate_key("shop", HOURS).await.unwrap();
    let left =
        "SELECT ((expires_at - EXTRACT(EPOCH FROM clock_timestamp()) * 1000) / 1000)::bigint::text
                FROM api_keys WHERE expires_at IS NOT NULL";
    let left: u64 = database.run(left)[0].parse().unwrap();
    assert!(
        left.abs_diff(HOURS.as_secs()) < 60,
        "the old key ends in {left} s"
    );
}
