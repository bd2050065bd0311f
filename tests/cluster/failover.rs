//! A URL with several hosts: a node finds the one that accepts writes, even if the others are dead or silent.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use restante::clock::Clock;
use restante::db::{Database, DatabaseError};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
use tokio::net::{TcpListener, TcpStream};

use super::bed::{client, mail, service};
use super::proxy::{Manner, Proxy};
use testkit::postgres::{Cluster, TestDatabase};

/// From the failure to the first message that is stored.
const MOVED: Duration = Duration::from_secs(10);
/// What a start may take if one host is dead.
const STARTED: Duration = Duration::from_secs(5);

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

/// A port that answers no SYN, because its backlog is full. It needs what it returns.
async fn swallows_syn() -> (SocketAddr, Vec<Box<dyn std::any::Any>>) {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    listen(&socket, 0).unwrap();
    let listener = std::net::TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let mut held: Vec<Box<dyn std::any::Any>> = vec![Box::new(listener)];
    while let Ok(Ok(connection)) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        held.push(Box::new(connection));
    }
    (address, held)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_starts_beside_a_dead_host() {
    let database = TestDatabase::create();
    let alive = Proxy::start(&database).await;
    let (full, _held) = swallows_syn().await;
    let dead = [("accepts and is silent", accepts_and_is_silent().await), ("swallows SYN", full)];
    for (kind, address) in dead {
        let start = Instant::now();
        let node = service(&after_host(&address.to_string(), &alive.url), Clock::system()).await;
        node.deliver(mail("a", kind)).await.unwrap();
        println!("a host that {kind}: started after {:?}", start.elapsed());
        assert!(start.elapsed() < STARTED, "{kind}: {:?}", start.elapsed());
    }
}

/// The two hosts are proxies to one server, so the second has all data of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_node_moves_from_a_dead_host() {
    for manner in [Manner::Frozen, Manner::Silent] {
        let database = TestDatabase::create();
        let (first, second) = (Proxy::start(&database).await, Proxy::start(&database).await);
        second.behave(Manner::Silent);
        let url = after_host(place(&first.url), &second.url);
        let node = service(&url, Clock::system()).await;
        let other = Database::open(&url.parse().unwrap()).await.unwrap();
        node.deliver(mail("a", "before")).await.unwrap();

        first.behave(manner);
        second.behave(Manner::Plain);
        let start = Instant::now();
        let mut tries = 1;
        while node.deliver(mail("a", "after")).await.is_err() {
            tries += 1;
        }
        println!("{manner:?}: mail after {:?} and {tries} tries", start.elapsed());
        assert!(start.elapsed() < MOVED, "{manner:?}: {:?}", start.elapsed());
        let locked = async { while other.locks().try_lock(1).await.is_err() {} };
        tokio::time::timeout(MOVED, locked).await.expect("the control connection has moved");
        node.check_health().await.unwrap();
    }
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
    assert_eq!(primary.run("SELECT subject FROM messages"), ["on the primary"]);

    standby.run("SELECT pg_promote()::text");
    service(&standby.text(), Clock::system()).await.deliver(mail("a", "promoted")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn while_no_host_accepts_writes_the_locks_are_kept() {
    let database = TestDatabase::create();
    let (first, second) = (Proxy::start(&database).await, Proxy::start(&database).await);
    let node = Database::open(&after_host(place(&first.url), &second.url).parse().unwrap()).await.unwrap();
    let _lock = node.locks().try_lock(7).await.unwrap().unwrap();
    let name = &database.run("SELECT current_database()")[0];
    database.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
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
    let (before, searched) = (holder(), second.connections() + 2);
    // Twice, the node has searched all hosts for one that accepts writes.
    while second.connections() < searched {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(holder(), before, "the session with the lock is the same");
    let administrator = client(&database).await;
    administrator.batch_execute("SET default_transaction_read_only = off").await.unwrap();
    let reset = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    administrator.batch_execute(&reset).await.unwrap();
    let is_replaced = async {
        while [vec![], before.clone()].contains(&holder()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(MOVED, is_replaced).await.expect("now there is a host that accepts writes");
}
