//! A proxy to PostgreSQL that can lose requests and answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use testkit::postgres::TestDatabase;

/// How the proxy behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It forwards everything.
    Plain,
    /// It closes its connections, and accepts new ones but sends nothing.
    Silent,
    /// It forwards nothing more, and closes nothing, like a frozen host.
    Frozen,
    /// It forwards a commit to the server, and closes the connection before the answer.
    LosingCommits,
}

/// A running proxy; it ends with the test's runtime.
pub(crate) struct Proxy {
    /// The database behind the proxy.
    pub(crate) url: String,
    manner: watch::Sender<Manner>,
    flights: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) async fn start(database: &TestDatabase) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = database.text();
        let (place, options) = text.split_once('?').unwrap();
        let directory = options.split('&').find_map(|option| option.strip_prefix("host=")).unwrap();
        let server = Path::new(directory).join(".s.PGSQL.5432");
        let url = place.replacen(":///", &format!("://postgres@127.0.0.1:{port}/"), 1) + "?sslmode=disable";
        let (manner, current) = watch::channel(Manner::Plain);
        let flights = Arc::new(AtomicUsize::new(0));
        let (counted, connections) = (Arc::clone(&flights), Arc::new(AtomicUsize::new(0)));
        let accepted = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(client, server.clone(), current.clone(), Arc::clone(&counted)));
            }
        });
        Self { url, manner, flights, connections }
    }

    /// How often a client has sent something after an answer: the number of round trips of all connections.
    pub(crate) fn flights(&self) -> usize {
        self.flights.load(Ordering::SeqCst)
    }

    /// How many connections it has accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.manner.send_replace(manner);
    }
}

async fn carry(
    mut client: TcpStream,
    server: PathBuf,
    mut manner: watch::Receiver<Manner>,
    flights: Arc<AtomicUsize>,
) -> io::Result<()> {
    let is_silent = |manner: &Manner| matches!(manner, Manner::Silent | Manner::Frozen);
    if is_silent(&manner.borrow()) {
        // Until the proxy forwards again; then this connection is closed.
        let _ = manner.wait_for(|manner| !is_silent(manner)).await;
        return Ok(());
    }
    let mut server = UnixStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let (said, mut freezing) = (manner.clone(), manner.clone());
    let answered = AtomicBool::new(true);
    let until_commit = async {
        let mut bytes = vec![0; 1 << 20];
        loop {
            let count = from_client.read(&mut bytes).await?;
            if answered.swap(false, Ordering::SeqCst) {
                flights.fetch_add(1, Ordering::SeqCst);
            }
            to_server.write_all(&bytes[..count]).await?;
            let commits = says_commit(&bytes[..count]) && *said.borrow() == Manner::LosingCommits;
            if commits || count == 0 {
                return Ok(commits);
            }
        }
    };
    let answers = async {
        let mut bytes = vec![0; 1 << 20];
        loop {
            let count = from_server.read(&mut bytes).await?;
            answered.store(true, Ordering::SeqCst);
            to_client.write_all(&bytes[..count]).await?;
            if count == 0 {
                return Ok(false);
            }
        }
    };
    let commits: io::Result<bool> = tokio::select! {
        biased;
        ended = until_commit => ended,
        ended = answers => ended,
        _ = until_thawed(&mut freezing) => Ok(false),
        _ = manner.wait_for(|manner| *manner == Manner::Silent) => Ok(false),
    };
    if commits? { until_committed(&mut server).await } else { Ok(()) }
}

/// Returns after the proxy was frozen.
async fn until_thawed(manner: &mut watch::Receiver<Manner>) {
    let _ = manner.wait_for(|manner| *manner == Manner::Frozen).await;
    // Not `Silent` either: it closes connections.
    let _ = manner.wait_for(|manner| *manner != Manner::Frozen).await;
}

/// Reads up to the answer to a commit. A server that does not answer earlier statements never sends it.
async fn until_committed(server: &mut UnixStream) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 20];
    loop {
        let count = server.read(&mut bytes).await?;
        if count == 0 || says_commit(&bytes[..count]) {
            return Ok(());
        }
    }
}

/// The whole statement, and its tag in the answer; a transaction also starts with READ COMMITTED.
fn says_commit(bytes: &[u8]) -> bool {
    bytes.windows(7).any(|word| word == b"COMMIT\0")
}
