//! The answer to a commit is lost, but the server may have committed.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use restante::clock::Clock;

use super::bed::{mail, service};
use super::proxy::{Manner, Proxy};
use testkit::postgres::TestDatabase;

const DELIVERIES: usize = 50;

#[tokio::test]
async fn a_batch_with_a_lost_commit_answer_is_refused_and_not_stored_twice() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let service = service(&proxy.url, Clock::system()).await;

    proxy.behave(Manner::LosingCommits);
    let answers =
        join_all((0..DELIVERIES).map(|number| service.deliver(mail("a", &number.to_string()))))
            .await;
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    proxy.behave(Manner::Plain);
    // The statement waits for the transaction that holds the row of the inbox.
    let again = async { while service.deliver(mail("a", "the last")).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(30), again)
        .await
        .expect("the database is back");

    let subjects = database.run("SELECT subject FROM messages");
    assert_eq!(
        subjects.iter().collect::<HashSet<_>>().len(),
        subjects.len(),
        "stored twice: {subjects:?}"
    );
    assert_eq!(subjects.len(), DELIVERIES + 1, "every commit was done");
}
