//! A URL with several hosts: a node finds the one that accepts writes, even if the others are dead
//! or silent.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use restante::clock::Clock;
use restante::db::{Database, DatabaseError};
use tokio::net::TcpListener;

use super::bed::{client, mail, scale, service};
use super::node::{Node, Sender, eventually};
use super::proxy::{Manner, Proxy};
use testkit::postgres::{Cluster, TestDatabase};

/// From the failure to the first message that is stored. Most of them need three seconds, and ten
/// are promised (`RESTANTE_TEST_MOVED_SECONDS=10` asserts them); a busy machine may need more. A
/// node that waited for its dead host would never move, and one that starts would exit.
fn moved() -> Duration {
    Duration::from_secs(scale("RESTANTE_TEST_MOVED_SECONDS", 30))
}

/// The URL with another host before its own.
fn after_host(place: &str, url: &str) -> String {
    url.replacen('@', &format!("@{place},"), 1)
}

/// The host and the port of a URL.
fn place(url: &str) -> &str {
    url.split_once('@').unwrap().1.split_once('/').unwrap().0
}

/// A port that accepts connections, and answers nothing.
async fn accepts_and_is_silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut accepted = Vec::new();
        while let Ok(connection) = listener.accept().await {
            accepted.push(connection);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_starts_beside_a_dead_host() {
    let database = TestDatabase::create();
    let alive = Proxy::start(&database).await;
    let deaf = Proxy::start(&database).await;
    deaf.behave(Manner::Deaf);
    let _held = deaf.fill_backlog().await;
    let silent = accepts_and_is_silent().await.to_string();
    for (kind, dead) in [
        ("accepts and is silent", silent.as_str()),
        ("swallows SYN", place(&deaf.url)),
    ] {
        let start = Instant::now();
        let node = service(&after_host(dead, &alive.url), Clock::system()).await;
        node.deliver(mail("a", kind)).await.unwrap();
        println!("a host that {kind}: started after {:?}", start.elapsed());
        assert!(start.elapsed() < moved(), "{kind}: {:?}", start.elapsed());
    }
}

/// The two hosts are proxies to one server, so the second has all data of the first.
async fn moves_from_a_host_that_is(manner: Manner) {
    let database = TestDatabase::create();
    let first = Proxy::start(&database).await;
    let second = Proxy::start(&database).await;
    second.behave(Manner::Silent);
    let url = after_host(place(&first.url), &second.url);
    let node = service(&url, Clock::system()).await;
    let other = Database::open(&url.parse().unwrap()).await.unwrap();
    node.deliver(mail("a", "before")).await.unwrap();

    first.behave(manner);
    let _held = if manner == Manner::Deaf {
        first.fill_backlog().await
    } else {
        Vec::new()
    };
    second.behave(Manner::Plain);
    let delivered = async { while node.deliver(mail("a", "after")).await.is_err() {} };
    tokio::time::timeout(moved(), delivered)
        .await
        .unwrap_or_else(|_| panic!("{manner:?}: no mail is stored"));
    let locked = async { while other.locks().try_lock(1).await.is_err() {} };
    tokio::time::timeout(moved(), locked)
        .await
        .expect("the control connection has moved");
    node.check_health().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_node_moves_from_a_host_that_is_silent() {
    moves_from_a_host_that_is(Manner::Silent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_node_moves_from_a_host_that_is_frozen() {
    moves_from_a_host_that_is(Manner::Frozen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_node_moves_from_a_host_that_swallows_syn() {
    moves_from_a_host_that_is(Manner::Deaf).await;
}

/// A primary and its streaming standby. The primary is frozen, and the standby promoted.
#[test]
fn after_a_promotion_mail_is_stored_again() {
    let primary = Cluster::start(&[]);
    let database = TestDatabase::create_in(primary.url.clone());
    let standby = primary.standby();
    let url = database.text_with(&standby);
    let promoted = database.copy_at(&standby);
    let node = Node::start(&url);
    let client = node.client();
    let mut sender = Sender::new(node.smtp());
    let inbox = client.create_inbox();
    assert!(sender.send(&inbox, "before").unwrap().starts_with("250"));
    database.until_copied(&promoted);
    let (_, list) = client.get(&format!("/v1/inboxes/{inbox}/messages"));
    let before = list["messages"][0]["id"].as_str().unwrap().to_owned();
    let parked = thread::spawn({
        let client = client.clone();
        let inbox = inbox.clone();
        move || {
            client
                .wait(&inbox, Some(&before), Duration::from_secs(60))
                .unwrap()
        }
    });
    eventually("the wait is parked", || database.named_locks(true) == 1);

    primary.freeze();
    promoted.run("SELECT pg_promote()::text");
    let start = Instant::now();
    eventually("mail is stored", || {
        sender
            .send(&inbox, "after")
            .is_ok_and(|reply| reply.starts_with("250"))
    });
    println!("mail {:?} after the promotion", start.elapsed());
    assert!(start.elapsed() < moved(), "{:?}", start.elapsed());
    let mut subjects = promoted.run("SELECT subject FROM messages ORDER BY sequence");
    // A commit whose answer was lost is sent again.
    subjects.dedup();
    assert_eq!(subjects, ["before", "after"]);
    let (status, message) = parked.join().unwrap();
    assert_eq!((status, message["subject"].as_str()), (200, Some("after")));
    eventually("health says so", || client.get("/v1/health").0 == 200);

    let start = Instant::now();
    assert_eq!(
        Node::start(&url)
            .client()
            .get(&format!("/v1/inboxes/{inbox}"))
            .0,
        200
    );
    println!("another node starts in {:?}", start.elapsed());
    assert!(start.elapsed() < moved(), "{:?}", start.elapsed());
}

/// A frozen primary that goes on accepts writes, until somebody ends it. The standby does not get
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_primary_that_wakes_up_is_not_used() {
    let primary = Cluster::start(&[]);
    let database = TestDatabase::create_in(primary.url.clone());
    let standby = primary.standby();
    let promoted = database.copy_at(&standby);
    let node = service(&database.text_with(&standby), Clock::system()).await;
    node.deliver(mail("a", "before")).await.unwrap();
    let subjects =
        |database: &TestDatabase| database.run("SELECT subject FROM messages ORDER BY subject");
    database.until_copied(&promoted);

    primary.freeze();
    promoted.run("SELECT pg_promote()::text");
    // One of them has the idle connection. Another one opens a connection and finds the new
    // primary, long before the control connection notices.
    let deliver = || node.deliver(mail("a", "during"));
    let stored = async {
        while join_all((0..4).map(|_| deliver()))
            .await
            .iter()
            .all(Result::is_err)
        {}
    };
    tokio::time::timeout(moved(), stored)
        .await
        .expect("mail is stored");
    primary.thaw();
    for number in 0..20 {
        node.deliver(mail("b", &format!("z {number}")))
            .await
            .unwrap();
    }
    assert_eq!(subjects(&database), ["before"], "the old primary");
    assert_eq!(
        subjects(&promoted)
            .iter()
            .filter(|subject| subject.starts_with('z'))
            .count(),
        20
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_refused_and_skipped_until_it_is_promoted() {
    let primary = TestDatabase::create();
    let first = Proxy::start(&primary).await;
    let cluster = Cluster::start(&[]);
    let standby = TestDatabase::create_in(cluster.url.clone());
    let name = &primary.run("SELECT current_database()")[0];
    standby.run(&format!("CREATE DATABASE {name}"));
    cluster.kill();
    std::fs::write(cluster.path().join("data/standby.signal"), "").unwrap();
    cluster.resume();
    let opened = Database::open(&standby.url()).await;
    assert!(matches!(opened, Err(DatabaseError::Standby)), "{opened:?}");

    // The primary is the second host.
    let second = Proxy::start(&standby).await;
    let node = service(&after_host(place(&second.url), &first.url), Clock::system()).await;
    node.deliver(mail("a", "on the primary")).await.unwrap();
    assert_eq!(
        primary.run("SELECT subject FROM messages"),
        ["on the primary"]
    );

    standby.run("SELECT pg_promote()::text");
    service(&standby.text(), Clock::system())
        .await
        .deliver(mail("a", "promoted"))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn while_no_host_accepts_writes_the_locks_are_kept() {
    let database = TestDatabase::create();
    let first = Proxy::start(&database).await;
    let second = Proxy::start(&database).await;
    let node = Database::open(&after_host(place(&first.url), &second.url).parse().unwrap())
        .await
        .unwrap();
    let _lock = node.locks().try_lock(7).await.unwrap().unwrap();
    let name = &database.run("SELECT current_database()")[0];
    database.run(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    let holder = || {
        database.run(
            "SELECT pid::text FROM pg_locks JOIN pg_database ON pg_database.oid = database
             WHERE locktype = 'advisory' AND granted AND datname = current_database()",
        )
    };
    let ended = holder();
    database.end_connections();
    while [vec![], ended.clone()].contains(&holder()) {
        tokio::task::yield_now().await;
    }
    let before = holder();
    let searched = second.connections() + 2;
    // Twice, the node has searched all hosts for one that accepts writes.
    while second.connections() < searched {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(holder(), before, "the session with the lock is the same");
    let administrator = client(&database).await;
    administrator
        .batch_execute("SET default_transaction_read_only = off")
        .await
        .unwrap();
    let reset = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    administrator.batch_execute(&reset).await.unwrap();
    let is_replaced = async {
        while [vec![], before.clone()].contains(&holder()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(moved(), is_replaced)
        .await
        .expect("now there is a host that accepts writes");
}
