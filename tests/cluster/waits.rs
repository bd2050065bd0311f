//! The waits that the dashboard shows, on a node that did not serve them.

use std::time::Duration;

use restante::clock::Clock;
use restante::model::MessageFilter;
use restante::model::WaitEnd;
use restante::service::Asked;

use super::bed::{mail, service};
use testkit::postgres::TestDatabase;
use testkit::within;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_shows_the_waits_of_another() {
    let database = TestDatabase::create();
    let one = service(&database.text(), Clock::system()).await;
    let other = service(&database.text(), Clock::system()).await;
    let key = one.projects().create("shop").await.unwrap();
    let caller = one.authenticate(key.as_str()).await.unwrap().unwrap();
    let inbox = one.create_inbox(&caller).await.unwrap();
    let filter = MessageFilter {
        subject: Some("Hello".to_owned()),
        ..MessageFilter::default()
    };
    let waiting = async {
        one.wait(
            &caller,
            &inbox,
            Asked::once(&filter, Duration::from_secs(60)),
        )
        .await
    };
    let watching = async {
        while other.open_waits(caller.project).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        other
            .deliver(mail(inbox.id.as_str(), "Hello"))
            .await
            .unwrap();
    };
    let (found, ()) = within(async { tokio::join!(waiting, watching) }).await;
    let shown = async {
        loop {
            let waits = other.waits_of_inbox(&inbox).await.unwrap();
            if let [wait] = waits.ended.as_slice() {
                return wait.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let wait = within(shown).await;
    assert_eq!(
        wait.end.unwrap().1,
        WaitEnd::Message(found.unwrap().head.id)
    );
    assert_eq!(wait.filter.subject.as_deref(), Some("Hello"));
}
