//! A commit whose answer is lost: the server may have done it.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use restante::clock::Clock;
use restante::db::Database;
use restante::model::{Domain, EmailAddress};
use restante::service::{Incoming, Options, Service};

use super::postgres::TestDatabase;
use super::proxy::{Manner, Proxy};

const DELIVERIES: usize = 50;

#[tokio::test]
async fn a_batch_of_whose_commit_nobody_hears_is_refused_and_not_stored_twice() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let engine = Database::open(&proxy.url.parse().unwrap()).await.unwrap();
    let mail_domain = Domain::parse("restante.test").unwrap();
    let options = Options {
        mail_domain,
        inbox_lifetime: Duration::from_secs(3_600),
        inbox_messages: 1_000,
        request_memory: 256 << 20,
    };
    let service = Service::start(engine, Clock::system(), options).await.unwrap();

    proxy.behave(Manner::LosingCommits);
    let answers = join_all((0..DELIVERIES).map(|number| service.deliver(incoming(&number.to_string())))).await;
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    proxy.behave(Manner::Plain);
    // It waits for whoever has the inbox's row.
    let again = async { while service.deliver(incoming("the last")).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(30), again).await.expect("the database is back");

    let subjects = database.run("SELECT subject FROM messages");
    assert_eq!(subjects.iter().collect::<HashSet<_>>().len(), subjects.len(), "stored twice: {subjects:?}");
    assert_eq!(subjects.len(), DELIVERIES + 1, "every commit was done");
}

fn incoming(subject: &str) -> Incoming {
    let raw = format!("Subject: {subject}\r\n\r\nHello\r\n").into_bytes();
    let recipients = vec![EmailAddress::parse("a@restante.test").unwrap()];
    Incoming { reverse_path: None, recipients, project: None, trace: String::new(), raw }
}
