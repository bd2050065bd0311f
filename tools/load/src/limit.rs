//! The SQLite limit: the baseline, a minimal server that stores a message before it replies. It
//! does not check commands. One thread commits all waiting messages at once, at most 256, one row
//! per message.

use std::io;
use std::sync::mpsc;

use rusqlite::Connection;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::options::{LimitServer, Place};
use crate::server::{Server, new_data_dir, pinned};

const BATCH: usize = 256;

type Job = (Vec<u8>, oneshot::Sender<()>);

/// Starts the limit as a separate process.
pub(crate) fn start(place: &Place) -> Server {
    let data = new_data_dir(place);
    let mut command = pinned(place, &std::env::current_exe().unwrap());
    command
        .args(["limit-server", "--data-dir"])
        .arg(data.path());
    Server::spawn(command, data)
}

/// The server itself.
pub(crate) fn serve(options: &LimitServer) -> bool {
    let (jobs, waiting) = mpsc::channel::<Job>();
    let mut database = open(options);
    std::thread::spawn(move || {
        while let Ok(first) = waiting.recv() {
            let batch: Vec<Job> = std::iter::once(first)
                .chain(waiting.try_iter().take(BATCH - 1))
                .collect();
            write(&mut database, &batch);
            batch.into_iter().for_each(|(_, stored)| {
                // The client may have disconnected.
                let _ = stored.send(());
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("SMTP {}\nHTTP none", listener.local_addr().unwrap());
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(converse(stream, jobs.clone()));
        }
    })
}

fn open(options: &LimitServer) -> Connection {
    let connection = Connection::open(options.data_dir.join("limit.db")).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    connection
        .pragma_update(None, "synchronous", "FULL")
        .unwrap();
    connection
        .execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, raw BLOB NOT NULL)",
            [],
        )
        .unwrap();
    connection
}

fn write(database: &mut Connection, batch: &[Job]) {
    let transaction = database.transaction().unwrap();
    for (bytes, _) in batch {
        transaction
            .prepare_cached("INSERT INTO messages (raw) VALUES (?1)")
            .unwrap()
            .execute([bytes])
            .unwrap();
    }
    transaction.commit().unwrap();
}

async fn converse(stream: TcpStream, jobs: mpsc::Sender<Job>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::with_capacity(64 * 1024, stream);
    stream.write_all(b"220 limit\r\n").await?;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if !line.starts_with("DATA") {
            stream.write_all(b"250 OK\r\n").await?;
            continue;
        }
        stream.write_all(b"354 go on\r\n").await?;
        let mut bytes = Vec::with_capacity(64 * 1024);
        while !bytes.ends_with(b"\r\n.\r\n") {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
        let (stored, answer) = oneshot::channel();
        if jobs.send((bytes, stored)).is_err() || answer.await.is_err() {
            return Ok(());
        }
        stream.write_all(b"250 OK\r\n").await?;
    }
}
