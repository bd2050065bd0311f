//! A proxy to PostgreSQL that can lose requests and answers.

use std::io;
use std::path::{Path, PathBuf};

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
    /// It forwards a commit to the server, and closes the connection before the answer.
    LosingCommits,
}

/// A running proxy; it ends with the test's runtime.
pub(crate) struct Proxy {
    /// The database behind the proxy.
    pub(crate) url: String,
    manner: watch::Sender<Manner>,
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
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(carry(client, server.clone(), current.clone()));
            }
        });
        Self { url, manner }
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.manner.send_replace(manner);
    }
}

async fn carry(mut client: TcpStream, server: PathBuf, mut manner: watch::Receiver<Manner>) -> io::Result<()> {
    if *manner.borrow() == Manner::Silent {
        // Until the proxy forwards again; then this connection is closed.
        let _ = manner.wait_for(|manner| *manner != Manner::Silent).await;
        return Ok(());
    }
    let mut server = UnixStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let said = manner.clone();
    let until_commit = async {
        let mut bytes = vec![0; 1 << 20];
        loop {
            let count = from_client.read(&mut bytes).await?;
            to_server.write_all(&bytes[..count]).await?;
            let commits = says_commit(&bytes[..count]) && *said.borrow() == Manner::LosingCommits;
            if commits || count == 0 {
                return Ok(commits);
            }
        }
    };
    let commits = tokio::select! {
        biased;
        ended = until_commit => ended,
        carried = tokio::io::copy(&mut from_server, &mut to_client) => carried.map(|_| false),
        _ = manner.wait_for(|manner| *manner == Manner::Silent) => Ok(false),
    };
    if commits? { until_committed(&mut server).await } else { Ok(()) }
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
