//! Who writes: one transaction at a time, where it is asked for as long as nobody else writes, else in line, on a thread of
//! its own.
//!
//! To hand a transaction over and to hear of it again takes two ways between threads. On a machine that has little to do,
//! each of them wakes a processor, and both together take longer than the statements.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::checkpoints::Checkpoints;
use super::{SqliteConnection, SqliteTransaction, lock};
use crate::db::DatabaseError;
use crate::db::announcer::Announcer;

/// A transaction, with its answer on board.
pub(super) type Work = Box<dyn FnOnce(SqliteTransaction) -> BoxFuture<'static, ()> + Send>;

/// The right to write to one database.
#[derive(Debug)]
pub(super) struct Writer {
    turns: Arc<Turns>,
    line: mpsc::Sender<Work>,
}

/// What whoever writes has in common with the others.
#[derive(Debug)]
struct Turns {
    writing: Mutex<Writing>,
    /// Transactions in line, and the one that the thread runs. Nobody goes before them.
    in_line: AtomicUsize,
    /// What transactions may use.
    runtime: Handle,
}

/// What whoever writes has to itself.
#[derive(Debug)]
struct Writing {
    connection: Arc<Mutex<SqliteConnection>>,
    announcer: Announcer,
    checkpoints: Checkpoints,
}

impl Writer {
    /// Takes over `connection`, which writes the file at `path`.
    pub(super) fn of(
        mut connection: SqliteConnection,
        path: &Path,
        announcer: Announcer,
        runtime: Handle,
    ) -> Result<Self, DatabaseError> {
        let checkpoints = Checkpoints::of(&mut connection, path)?;
        let writing = Writing { connection: Arc::new(Mutex::new(connection)), announcer, checkpoints };
        let turns = Arc::new(Turns { writing: Mutex::new(writing), in_line: AtomicUsize::new(0), runtime });
        let (line, works) = mpsc::channel();
        let serving = Arc::clone(&turns);
        let builder = std::thread::Builder::new().name("sqlite-writer".to_owned());
        builder.spawn(move || works.into_iter().for_each(|work| serving.serve(work))).map_err(DatabaseError::Thread)?;
        Ok(Self { turns, line })
    }

    /// Runs `work`, or puts it in line.
    pub(super) fn take(&self, work: Work) -> Result<(), DatabaseError> {
        let in_line = if may_block() { self.turns.run_here(work) } else { Some(work) };
        in_line.map_or(Ok(()), |work| {
            self.turns.in_line.fetch_add(1, Ordering::Relaxed);
            self.line.send(work).map_err(|_| DatabaseError::Closed)
        })
    }
}

/// Whether this thread's other tasks go on elsewhere while it blocks.
fn may_block() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Turns {
    /// Runs `work` if nobody else writes or waits to; answers what there is to do in line.
    fn run_here(&self, work: Work) -> Option<Work> {
        if self.in_line.load(Ordering::Relaxed) > 0 {
            return Some(work);
        }
        let Ok(writing) = self.writing.try_lock() else { return Some(work) };
        tokio::task::block_in_place(|| writing.run(work, &self.runtime));
        // To move the log takes its time, which is not that of whoever has committed.
        writing.checkpoints.are_due().then(|| -> Work { Box::new(|transaction| Box::pin(async { drop(transaction) })) })
    }

    fn serve(&self, work: Work) {
        let writing = lock(&self.writing);
        writing.run(work, &self.runtime);
        writing.checkpoints.between_transactions(&lock(&writing.connection));
        drop(writing);
        self.in_line.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Writing {
    fn run(&self, work: Work, runtime: &Handle) {
        let transaction = SqliteTransaction {
            connection: Arc::clone(&self.connection),
            announcer: self.announcer.clone(),
            open: false,
        };
        let work = AssertUnwindSafe(|| runtime.block_on(work(transaction)));
        // Whoever waits for the answer hears that there is none; the next transaction does not suffer.
        if catch_unwind(work).is_err() {
            tracing::error!("a transaction has panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::thread;

    use futures_util::poll;

    use super::super::tests::opened;
    use super::*;

    async fn writing_thread(_: SqliteTransaction) -> thread::Thread {
        thread::current()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_transaction_runs_where_it_is_asked_for() {
        let (_directory, sqlite) = opened();
        assert_eq!(sqlite.transact(writing_thread).await.unwrap().id(), thread::current().id());
    }

    #[tokio::test]
    async fn where_nothing_may_block_it_runs_on_a_thread_of_its_own() {
        let (_directory, sqlite) = opened();
        assert_eq!(sqlite.transact(writing_thread).await.unwrap().name(), Some("sqlite-writer"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn the_others_stand_in_line() {
        let (_directory, sqlite) = opened();
        let sqlite = Arc::new(sqlite);
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let first = tokio::spawn({
            let sqlite = Arc::clone(&sqlite);
            async move { sqlite.transact(async move |_| (begin.send(()), ended.recv())).await }
        });
        begun.recv().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |number| {
            let order = Arc::clone(&order);
            sqlite.transact(async move |_| {
                lock(&order).push(number);
                thread::current()
            })
        };
        let (mut second, mut third) = (pin!(note(2)), pin!(note(3)));
        assert!(poll!(second.as_mut()).is_pending() && poll!(third.as_mut()).is_pending());
        // The one thread of the runtime is taken, but its other tasks go on.
        tokio::spawn(async move { end.send(()) }).await.unwrap().unwrap();
        assert_eq!(third.await.unwrap().name(), Some("sqlite-writer"));
        assert_eq!(second.await.unwrap().name(), Some("sqlite-writer"));
        assert_eq!(*lock(&order), [2, 3]);
        assert!(first.await.unwrap().is_ok());
    }
}
