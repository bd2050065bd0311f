//! The sweeper while other nodes deliver.

use std::sync::Arc;
use std::time::Duration;

use restante::db::Database;
use restante::model::{Domain, Inbox, InboxId, InboxKind, Timestamp};
use restante::service::write;
use restante::store::{Content, Delivery, Origin, Policy, Store, Swept};
use restante_delivery::{Request, Source};
use tokio_postgres::NoTls;

use testkit::postgres::TestDatabase;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
/// More than one step removes.
const MESSAGES: usize = 150;

/// If the sweeper waited, it could deadlock with the delivery, because it holds other inboxes.
#[tokio::test]
async fn the_sweeper_waits_for_no_delivery() {
    let database = TestDatabase::create();
    let store = Store::open(Database::open(&database.url()).await.unwrap())
        .await
        .unwrap();
    fill(&store).await;
    let later = START.after(HOUR);
    assert_eq!(
        store.sweep(later, Duration::from_secs(60)).await.unwrap(),
        Swept::More
    );

    let (mut delivery, connection) = tokio_postgres::connect(&database.text(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let delivery = delivery.transaction().await.unwrap();
    delivery
        .execute(
            "UPDATE inboxes SET last_sequence = last_sequence + 1 WHERE id = 'a'",
            &[],
        )
        .await
        .unwrap();
    let swept = tokio::time::timeout(
        Duration::from_secs(15),
        store.sweep(later, Duration::from_secs(60)),
    )
    .await;
    assert_eq!(swept.expect("the sweeper waits").unwrap(), Swept::Done);

    delivery.rollback().await.unwrap();
    while store.sweep(later, Duration::from_secs(60)).await.unwrap() == Swept::More {}
    assert_eq!(store.stored().await.unwrap(), (0, 0));
}

/// Fills an inbox that expires in an hour.
async fn fill(store: &Store) {
    let project = store.default_project("default", START).await.unwrap();
    let id = InboxId::parse("a").unwrap();
    let expires_at = Some(START.after(HOUR));
    let inbox = Inbox {
        id: id.clone(),
        shared: None,
        project,
        kind: InboxKind::Temporary,
        created_at: START,
        expires_at,
    };
    assert!(store.create_inbox(&inbox).await.unwrap());
    let raw = b"Subject: Hello\r\n\r\nHello\r\n";
    let content = Content::encode(
        restante_mail::parse(raw),
        String::new(),
        Origin::default(),
        raw,
    );
    let source = Source::Client {
        project: None,
        reverse_path: String::new(),
    };
    let delivery = Delivery {
        request: Request {
            recipients: vec![id.into()],
            source,
        },
        content,
        outgoing: None,
    };
    let mail_domain = Domain::parse("restante.example.com").unwrap();
    let policy = Policy {
        now: START,
        lifetime: HOUR,
        inbox_messages: 1_000,
        default_project: project,
        mail_domain,
    };
    let batch = Arc::new(vec![delivery; MESSAGES]);
    write(store, &batch, || policy.clone()).await.unwrap();
}
