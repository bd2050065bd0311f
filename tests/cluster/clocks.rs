//! A node whose clock is wrong: it has the time of the database, says that it is not healthy, and harms nobody.

use std::time::Duration;

use restante::clock::Clock;
use restante::db::Database;
use restante::model::InboxId;
use restante::service::Unhealthy;
use restante::store::Store;

use super::bed::{mail, service};
use testkit::postgres::TestDatabase;

const HOURS: Duration = Duration::from_secs(2 * 3_600);

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_ends_no_inbox() {
    let database = TestDatabase::create();
    let right = service(&database.text(), Clock::system()).await;
    right.deliver(mail("a", "from the right one")).await.unwrap();
    let wrong_clock = Clock::ahead_by(HOURS);
    let wrong = service(&database.text(), wrong_clock.clone()).await;
    let health = wrong.check_health().await;
    assert!(matches!(health, Err(Unhealthy::Clock(seconds)) if seconds.abs_diff(HOURS.as_secs()) < 5), "{health:?}");
    right.check_health().await.unwrap();

    wrong.deliver(mail("b", "from the wrong one")).await.unwrap();
    let store = Store::open(Database::open(&database.url()).await.unwrap()).await.unwrap();
    while store.sweep(wrong_clock.now(), HOURS).await.unwrap() == restante::store::Swept::More {}
    for inbox in ["a", "b"] {
        let id = InboxId::parse(inbox).unwrap();
        let found = store.live_inbox(&id, right.clock().now()).await.unwrap().expect("it is live at both");
        let lives = found.expires_at.unwrap().since(right.clock().now());
        assert!(lives < HOURS && lives > Duration::from_secs(60), "{inbox} lives for {lives:?}");
    }
    assert_eq!(store.stored().await.unwrap(), (2, 2));
}
