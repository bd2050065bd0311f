//! The limit: what a server could do at best that commits before it answers. It reads the dialogue without checking it,
//! keeps the octets as they come, and one thread commits whatever is waiting, 256 messages at most: to SQLite, one
//! row a message and nothing beside it, or to a log that it flushes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc;

use rusqlite::Connection;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::ingest::{Outcome, Run};
use crate::options::{Limit, LimitServer, Place, Traffic};
use crate::server::{Server, new_data_dir, pin_load, pinned, runtime};

const BATCH: usize = 256;

type Job = (Vec<u8>, oneshot::Sender<()>);
/// Writes a batch to stable storage.
type Write = Box<dyn FnMut(&[Job]) + Send>;

pub(crate) fn run(options: &Limit) -> bool {
    pin_load(&options.place);
    let outcome = measure(&options.place, &options.traffic, options.log);
    outcome.print(false);
    outcome.missing.unwrap_or(0) == 0 && outcome.failed == 0
}

/// Sends `traffic` to the limit's server.
pub(crate) fn measure(place: &Place, traffic: &Traffic, log: bool) -> Outcome {
    let data = new_data_dir(place);
    let mut command = pinned(place, &std::env::current_exe().unwrap());
    command.args(["limit-server", "--data-dir"]).arg(data.path()).args(log.then_some("--log"));
    let server = Server::spawn(command, data);
    let (process, before) = (server.process(), server.process().processor_time());
    let run = Run::new(traffic, server.smtp.clone(), vec!["limit@restante.test".to_owned()]);
    let mut outcome = runtime().block_on(run.send(Vec::new())).outcome();
    outcome.add_process(process, before);
    outcome.files = server.files();
    if !log {
        let connection = Connection::open(server.data.path().join("limit.db")).unwrap();
        let stored: i64 = connection.query_row("SELECT COUNT(*) FROM messages", [], |row| row.get(0)).unwrap();
        outcome.missing = Some(usize::try_from(outcome.taken.saturating_sub(stored.unsigned_abs())).unwrap());
    }
    outcome
}

/// The server itself.
pub(crate) fn serve(options: &LimitServer) -> bool {
    let (jobs, waiting) = mpsc::channel();
    let mut write: Write = if options.log { log(&options.data_dir) } else { database(&options.data_dir) };
    std::thread::spawn(move || {
        while let Ok(first) = waiting.recv() {
            let batch: Vec<Job> = std::iter::once(first).chain(waiting.try_iter().take(BATCH - 1)).collect();
            write(&batch);
            batch.into_iter().for_each(|(_, stored)| {
                // A client that has left does not mind.
                let _ = stored.send(());
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("SMTP {}\nHTTP none", listener.local_addr().unwrap());
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(converse(stream, jobs.clone()));
        }
    })
}

fn database(directory: &Path) -> Write {
    let mut connection = Connection::open(directory.join("limit.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, raw BLOB NOT NULL)", []).unwrap();
    Box::new(move |batch| {
        let transaction = connection.transaction().unwrap();
        for (octets, _) in batch {
            transaction.prepare_cached("INSERT INTO messages (raw) VALUES (?1)").unwrap().execute([octets]).unwrap();
        }
        transaction.commit().unwrap();
    })
}

fn log(directory: &Path) -> Write {
    let mut file = File::create(directory.join("limit.log")).unwrap();
    Box::new(move |batch| {
        let octets: Vec<u8> = batch.iter().flat_map(|(octets, _)| octets.iter().copied()).collect();
        file.write_all(&octets).unwrap();
        file.sync_data().unwrap();
    })
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
        let mut octets = Vec::with_capacity(64 * 1024);
        while !octets.ends_with(b"\r\n.\r\n") {
            if stream.read_buf(&mut octets).await? == 0 {
                return Ok(());
            }
        }
        let (stored, answer) = oneshot::channel();
        if jobs.send((octets, stored)).is_err() || answer.await.is_err() {
            return Ok(());
        }
        stream.write_all(b"250 OK\r\n").await?;
    }
}
