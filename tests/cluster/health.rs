//! Health says 500 while no mail can be stored, for any reason, and 200 soon afterwards.

use std::time::Duration;

use restante::clock::Clock;
use restante::db::Database;
use restante::model::{EmailAddress, MessageId, ProjectId};
use restante::service::{DeliverError, Service, Unhealthy};
use restante::store::Store;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::bed::{START, client, mail, service};
use testkit::postgres::TestDatabase;

const STUCK: Duration = Duration::from_secs(5);
/// Longer than a delivery may take, and than health needs to recover.
const LONG: Duration = Duration::from_secs(30);

/// A node with an ordinary role, and a session of an administrator.
struct Bed {
    node: Service,
    clock: Clock,
    administrator: Client,
    role: String,
    // Dropped last.
    database: TestDatabase,
}

impl Bed {
    async fn start() -> Self {
        let database = TestDatabase::create();
        let role = database.run("SELECT current_database()")[0].clone();
        database.run(&format!("CREATE ROLE {role} LOGIN"));
        database.run(&format!("ALTER DATABASE {role} OWNER TO {role}"));
        let clock = Clock::manual(START);
        let url = database
            .text()
            .replace("user=postgres", &format!("user={role}"));
        let node = service(&url, clock.clone()).await;
        node.deliver(mail("a", "before")).await.unwrap();
        let administrator = client(&database).await;
        node.check_health().await.unwrap();
        Self {
            node,
            clock,
            administrator,
            role,
            database,
        }
    }

    /// Mail is noticed that cannot be stored. Returns its delivery.
    async fn is_stuck(&self) -> JoinHandle<Result<Vec<MessageId>, DeliverError>> {
        let node = self.node.clone();
        let delivery = tokio::spawn(async move { node.deliver(mail("a", "refused")).await });
        let health = timeout(LONG, until_stuck(&self.node, &self.clock))
            .await
            .expect("the delivery is noticed");
        assert!(matches!(health, Unhealthy::Stuck(5..)), "{health:?}");
        assert!(
            health
                .to_string()
                .starts_with("no mail was stored for 5 seconds")
        );
        delivery
    }

    /// `quiet`: nobody sends mail any more.
    async fn recovers(
        &self,
        delivery: JoinHandle<Result<Vec<MessageId>, DeliverError>>,
        quiet: bool,
    ) {
        let _ = timeout(LONG, delivery)
            .await
            .expect("the delivery has an answer");
        if quiet {
            return recovers_without_mail(&self.node, &self.clock).await;
        }
        timeout(LONG, self.node.deliver(mail("a", "after")))
            .await
            .unwrap()
            .unwrap();
        self.node.check_health().await.unwrap();
    }
}

/// Breaks the database, sends mail, and repairs it. `quiet`: nobody sends mail afterwards.
async fn breaks(broken: &str, repaired: &str, quiet: bool) {
    let bed = Bed::start().await;
    bed.administrator
        .batch_execute(&broken.replace("ROLE", &bed.role))
        .await
        .unwrap();
    let delivery = bed.is_stuck().await;
    bed.administrator
        .batch_execute(&repaired.replace("ROLE", &bed.role))
        .await
        .unwrap();
    bed.recovers(delivery, quiet).await;
}

/// Time passes only after the delivery has started: before that, it would not count as waiting.
async fn until_stuck(node: &Service, clock: &Clock) -> Unhealthy {
    loop {
        tokio::task::yield_now().await;
        clock.advance(STUCK);
        if let Err(unhealthy) = node.check_health().await {
            return unhealthy;
        }
    }
}

/// Health recovers without mail. A test of the database that began before the repair may fail after
/// it, and is repeated a second later.
async fn recovers_without_mail(node: &Service, clock: &Clock) {
    let recovered = async {
        while node.check_health().await.is_err() {
            clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, recovered)
        .await
        .expect("the node tests the database");
}

async fn until_healthy(node: &Service) {
    while node.check_health().await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_table_makes_a_node_unhealthy() {
    breaks("BEGIN; LOCK TABLE messages", "COMMIT", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_makes_a_node_unhealthy() {
    let away = "ALTER TABLE contents RENAME TO elsewhere";
    let back = "ALTER TABLE elsewhere RENAME TO contents";
    for quiet in [true, false] {
        breaks(away, back, quiet).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_makes_a_node_unhealthy() {
    breaks(
        "REVOKE INSERT ON messages FROM ROLE",
        "GRANT INSERT ON messages TO ROLE",
        true,
    )
    .await;
}

/// It waits for a reader, and every writer waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_rewritten_makes_a_node_unhealthy() {
    let bed = Bed::start().await;
    bed.administrator
        .batch_execute("BEGIN; SELECT number FROM messages")
        .await
        .unwrap();
    let other = client(&bed.database).await;
    let rewritten = tokio::spawn(async move { other.batch_execute("VACUUM FULL messages").await });
    let waits = "SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE mode = 'AccessExclusiveLock' AND NOT granted AND datname = current_database()";
    timeout(LONG, async {
        while bed
            .administrator
            .query(waits, &[])
            .await
            .unwrap()
            .is_empty()
        {}
    })
    .await
    .unwrap();
    let delivery = bed.is_stuck().await;
    bed.administrator.batch_execute("COMMIT").await.unwrap();
    rewritten.await.unwrap().unwrap();
    bed.recovers(delivery, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_sequence_makes_a_node_unhealthy() {
    let exhausted = "ALTER TABLE messages ALTER COLUMN number SET MAXVALUE 2; SELECT setval('messages_number_seq', 2)";
    breaks(
        exhausted,
        "ALTER TABLE messages ALTER COLUMN number SET NO MAXVALUE",
        true,
    )
    .await;
}

/// A message for an inbox that exists would be stored, so only mail for a new one shows it.
#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_cannot_be_created_makes_a_node_unhealthy_until_it_can() {
    let database = TestDatabase::create();
    let clock = Clock::manual(START);
    let node = service(&database.text(), clock.clone()).await;
    let administrator = client(&database).await;
    let exhausted = "ALTER TABLE inboxes ALTER COLUMN number SET MAXVALUE 2; SELECT setval('inboxes_number_seq', 2)";
    administrator.batch_execute(exhausted).await.unwrap();
    assert!(node.deliver(mail("new", "refused")).await.is_err());
    clock.advance(STUCK);
    let store = Store::open(Database::open(&database.url()).await.unwrap())
        .await
        .unwrap();
    assert!(store.probe(clock.now()).await.is_err());
    assert!(matches!(
        node.check_health().await,
        Err(Unhealthy::Stuck(5))
    ));
    administrator
        .batch_execute("ALTER TABLE inboxes ALTER COLUMN number SET NO MAXVALUE")
        .await
        .unwrap();
    recovers_without_mail(&node, &clock).await;
    assert_eq!(
        store.stored().await.unwrap(),
        (0, 0),
        "the probe leaves nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipient_that_cannot_be_checked_makes_a_node_unhealthy() {
    let database = TestDatabase::create();
    let clock = Clock::manual(START);
    let node = service(&database.text(), clock.clone()).await;
    let administrator = client(&database).await;
    administrator
        .batch_execute("ALTER TABLE inboxes RENAME TO elsewhere")
        .await
        .unwrap();
    let tagged = EmailAddress::parse("a+tag@restante.example.com").unwrap();
    let project = Some(ProjectId(uuid::Uuid::now_v7()));
    assert!(node.accept_recipient(&tagged, project).await.is_err());
    clock.advance(STUCK);
    assert!(matches!(
        node.check_health().await,
        Err(Unhealthy::Stuck(5))
    ));
    administrator
        .batch_execute("ALTER TABLE elsewhere RENAME TO inboxes")
        .await
        .unwrap();
    recovers_without_mail(&node, &clock).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database_makes_a_node_unhealthy_without_any_mail() {
    let database = TestDatabase::create();
    let node = service(&database.text(), Clock::system()).await;
    let set = |value: &str| {
        let name = &database.run("SELECT current_database()")[0];
        database.run(&format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {value}"
        ));
        // The node's sessions read it when they connect.
        database.run(
            "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'restante'",
        );
    };
    set("on");
    // The first answer may be that the node is connecting again.
    timeout(LONG, async {
        while !matches!(node.check_health().await, Err(Unhealthy::ReadOnly)) {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert!(node.deliver(mail("a", "refused")).await.is_err());
    let name = &database.run("SELECT current_database()")[0];
    let administrator = client(&database).await;
    administrator
        .batch_execute("SET default_transaction_read_only = off")
        .await
        .unwrap();
    let reset = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    administrator.batch_execute(&reset).await.unwrap();
    timeout(LONG, async {
        while node.deliver(mail("a", "stored")).await.is_err() {}
    })
    .await
    .unwrap();
    timeout(LONG, until_healthy(&node)).await.unwrap();
}
