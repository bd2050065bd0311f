//! A node in the test's process, and a separate PostgreSQL session for locks that the node needs.

use restante::clock::Clock;
use restante::db::Database;
use restante::model::{EmailAddress, Timestamp};
use restante::service::{Incoming, Service};
use tokio_postgres::{Client, NoTls};

use testkit::postgres::TestDatabase;

/// The start time of manual clocks.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The service of a node on the database at `url`.
pub(crate) async fn service(url: &str, clock: Clock) -> Service {
    let database = Database::open(&url.parse().unwrap()).await.unwrap();
    Service::start(database, clock, testkit::options(10_000_000))
        .await
        .unwrap()
}

/// A message for one inbox.
pub(crate) fn mail(inbox: &str, subject: &str) -> Incoming {
    let raw = format!("Subject: {subject}\r\n\r\nHello\r\n").into_bytes();
    let recipients = vec![EmailAddress::parse(&format!("{inbox}@restante.example.com")).unwrap()];
    Incoming {
        reverse_path: String::new(),
        recipients,
        project: None,
        trace: String::new(),
        reception: None,
        raw,
    }
}

/// A session that does not belong to a node.
pub(crate) async fn client(database: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.text(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

/// A number that scales a test, from the environment.
pub(crate) fn scale(variable: &str, small: u64) -> u64 {
    std::env::var(variable).map_or(small, |text| text.parse().unwrap())
}
