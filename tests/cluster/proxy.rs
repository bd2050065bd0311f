//! A proxy to PostgreSQL that can lose requests and answers.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

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
    /// Like `Frozen`, and it accepts no connections. Once its backlog is full, it answers no SYN.
    Deaf,
    /// It forwards a commit to the server, and closes the connection before the answer.
    LosingCommits,
}

/// The connections that it keeps until it accepts them.
const BACKLOG: u32 = 16;

/// How far a link with a limited speed may be ahead.
const AHEAD: Duration = Duration::from_millis(10);

/// The network between the proxy and its clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    /// The delay of what a client sends.
    delay: Duration,
    /// How many bytes all clients together can send in a second.
    speed: Option<u32>,
    /// When it has sent what it has got.
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl Link {
    pub(crate) fn delayed_by(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    pub(crate) fn with_speed(bytes_per_second: u32) -> Self {
        Self {
            speed: Some(bytes_per_second),
            ..Self::default()
        }
    }

    async fn send(&self, bytes: usize) {
        if !self.delay.is_zero() {
            sleep(self.delay).await;
        }
        if let Some(speed) = self.speed {
            let mut free_at = self.free_at.lock().await;
            let now = Instant::now();
            let time = Duration::from_secs_f64(bytes as f64 / f64::from(speed));
            let end = free_at.map_or(now, |free_at| free_at.max(now)) + time;
            *free_at = Some(end);
            // A shorter sleep would take longer than it says.
            if end > now + AHEAD {
                sleep_until(end).await;
            }
        }
    }
}

/// A running proxy; it ends with the test's runtime.
pub(crate) struct Proxy {
    /// The database behind the proxy.
    pub(crate) url: String,
    address: SocketAddr,
    manner: watch::Sender<Manner>,
    flights: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) async fn start(database: &TestDatabase) -> Self {
        Self::start_with(database, Link::default()).await
    }

    #[allow(clippy::unused_async, reason = "it needs a runtime")]
    pub(crate) async fn start_with(database: &TestDatabase, link: Link) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(BACKLOG).unwrap();
        let address = listener.local_addr().unwrap();
        let port = address.port();
        let text = database.text();
        let (place, options) = text.split_once('?').unwrap();
        let directory = options
            .split('&')
            .find_map(|option| option.strip_prefix("host="))
            .unwrap();
        let server = Path::new(directory).join(".s.PGSQL.5432");
        let url = place.replacen(":///", &format!("://postgres@127.0.0.1:{port}/"), 1)
            + "?sslmode=disable";
        let (manner, current) = watch::channel(Manner::Plain);
        let flights = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&flights);
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let _ = current
                    .clone()
                    .wait_for(|manner| *manner != Manner::Deaf)
                    .await;
                let (client, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(
                    client,
                    server.clone(),
                    current.clone(),
                    Arc::clone(&counted),
                    link.clone(),
                ));
            }
        });
        Self {
            url,
            address,
            manner,
            flights,
            connections,
        }
    }

    /// How often a client has sent something after an answer: the number of round trips of all
    /// connections.
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

    /// Fills its backlog, so that it answers no SYN while it is [`Manner::Deaf`] and these
    /// connections are open.
    pub(crate) async fn fill_backlog(&self) -> Vec<TcpStream> {
        let mut held = Vec::new();
        while let Ok(Ok(connection)) =
            timeout(Duration::from_millis(200), TcpStream::connect(self.address)).await
        {
            held.push(connection);
        }
        held
    }
}

async fn carry(
    mut client: TcpStream,
    server: PathBuf,
    mut manner: watch::Receiver<Manner>,
    flights: Arc<AtomicUsize>,
    link: Link,
) -> io::Result<()> {
    let is_silent = |manner: &Manner| *manner == Manner::Silent || is_frozen(manner);
    if is_silent(&manner.borrow()) {
        // Until the proxy forwards again; then this connection is closed.
        let _ = manner.wait_for(|manner| !is_silent(manner)).await;
        return Ok(());
    }
    client.set_nodelay(true)?;
    let mut server = UnixStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let said = manner.clone();
    let mut freezing = manner.clone();
    let thawed = async || _ = said.clone().wait_for(|manner| !is_frozen(manner)).await;
    let answered = AtomicBool::new(true);
    let until_commit = async {
        let mut bytes = vec![0; 1 << 20];
        loop {
            let count = from_client.read(&mut bytes).await?;
            if answered.swap(false, Ordering::SeqCst) {
                flights.fetch_add(1, Ordering::SeqCst);
            }
            link.send(count).await;
            thawed().await;
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
            thawed().await;
            to_client.write_all(&bytes[..count]).await?;
            if count == 0 {
                return Ok(false);
            }
        }
    };
    let commits: io::Result<bool> = tokio::select! {
        biased;
        _ = until_thawed(&mut freezing) => Ok(false),
        ended = until_commit => ended,
        ended = answers => ended,
        _ = manner.wait_for(|manner| *manner == Manner::Silent) => Ok(false),
    };
    if commits? {
        until_committed(&mut server).await
    } else {
        Ok(())
    }
}

/// Returns after the proxy was frozen.
async fn until_thawed(manner: &mut watch::Receiver<Manner>) {
    let _ = manner.wait_for(is_frozen).await;
    // Not `Silent` either: it closes connections.
    let _ = manner.wait_for(|manner| !is_frozen(manner)).await;
}

fn is_frozen(manner: &Manner) -> bool {
    matches!(manner, Manner::Frozen | Manner::Deaf)
}

/// Reads up to the answer to a commit. A server that does not answer earlier statements never sends
/// it.
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
