//! The thread that runs all write transactions, one after another, on its own connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::checkpoint::Checkpointer;
use super::connection::{SqliteConnection, lock};
use super::transaction::SqliteTransaction;
use crate::db::DatabaseError;
use crate::db::announcer::Announcer;

/// Runs a transaction and sends its result to the caller.
pub(super) type Work = Box<dyn FnOnce(SqliteTransaction) -> BoxFuture<'static, ()> + Send>;

/// The queue of the writing thread.
#[derive(Debug)]
pub(super) struct Writer(mpsc::Sender<Task>);

enum Task {
    Run(Work),
    Close(oneshot::Sender<()>),
}

impl Writer {
    /// Starts the thread for the file at `path`. Futures of transactions run within `runtime`.
    pub(super) fn start(
        path: &Path,
        announcer: Announcer,
        runtime: Handle,
    ) -> Result<Self, DatabaseError> {
        let mut connection = SqliteConnection::writer(path)?;
        let checkpointer = Checkpointer::start(&mut connection, path)?;
        let (queue, tasks) = mpsc::channel();
        let thread = std::thread::Builder::new().name("sqlite-writer".to_owned());
        let run = move || run(connection, checkpointer, &announcer, &runtime, tasks);
        thread.spawn(run).map_err(DatabaseError::Thread)?;
        Ok(Self(queue))
    }

    /// Queues a transaction.
    pub(super) fn queue(&self, work: Work) -> Result<(), DatabaseError> {
        self.0
            .send(Task::Run(work))
            .map_err(|_| DatabaseError::Closed)
    }

    /// Finishes the queued transactions, then stops the thread and closes the database.
    pub(super) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.0.send(Task::Close(reply)).is_ok() {
            // An error means that the thread has already ended.
            let _ = closed.await;
        }
    }
}

fn run(
    connection: SqliteConnection,
    checkpointer: Checkpointer,
    announcer: &Announcer,
    runtime: &Handle,
    tasks: mpsc::Receiver<Task>,
) {
    let connection = Arc::new(Mutex::new(connection));
    while let Ok(task) = tasks.recv() {
        let work = match task {
            Task::Run(work) => work,
            Task::Close(reply) => {
                checkpointer.close();
                drop((connection, tasks));
                // The caller may have stopped waiting.
                let _ = reply.send(());
                return;
            }
        };
        let transaction = SqliteTransaction::new(Arc::clone(&connection), announcer.clone());
        // The panic drops the sender of the result, so the caller gets an error. The next
        // transaction is not affected.
        if catch_unwind(AssertUnwindSafe(|| runtime.block_on(work(transaction)))).is_err() {
            tracing::error!("a transaction has panicked");
        }
        checkpointer.after_transaction(&lock(&connection));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::tests::{INSERT, numbers, opened, with_table};
    use super::*;

    #[tokio::test]
    async fn transactions_run_in_the_order_in_which_they_were_queued() {
        let (_directory, sqlite) = opened();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |number| {
            let order = Arc::clone(&order);
            sqlite.transact(async move |_| lock(&order).push(number))
        };
        // The first poll queues a transaction.
        let (first, second) = futures_util::future::join(note(1), note(2)).await;
        first.and(second).unwrap();
        assert_eq!(*lock(&order), [1, 2]);
    }

    #[tokio::test]
    async fn a_transaction_that_panics_does_not_affect_others() {
        let (_directory, sqlite) = with_table().await;
        let panic = async |mut open: SqliteTransaction| -> () {
            open.execute(INSERT, &[vec![]]).unwrap();
            panic!("intended by the test");
        };
        assert!(matches!(
            sqlite.transact(panic).await,
            Err(DatabaseError::Panicked)
        ));
        let insert = async |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]]).unwrap();
            open.commit(&[])
        };
        sqlite.transact(insert).await.unwrap().unwrap();
        assert_eq!(numbers(&sqlite), 1);
    }

    #[tokio::test]
    async fn a_transaction_is_finished_when_nobody_waits_for_it() {
        let (_directory, sqlite) = with_table().await;
        let (release, held) = mpsc::channel::<()>();
        let insert = async move |mut open: SqliteTransaction| {
            held.recv().unwrap();
            open.execute(INSERT, &[vec![]]).unwrap();
            open.commit(&[])
        };
        assert!(sqlite.transact(insert).now_or_never().is_none());
        release.send(()).unwrap();
        // The next transaction is queued after it.
        sqlite
            .transact(async |open: SqliteTransaction| drop(open))
            .await
            .unwrap();
        assert_eq!(numbers(&sqlite), 1);
    }

    #[tokio::test]
    async fn a_closed_database_is_one_file() {
        let (directory, sqlite) = with_table().await;
        sqlite.close().await;
        let files: Vec<_> = directory
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(files, ["test.db"]);
        assert!(matches!(
            sqlite.transact(async |_| ()).await,
            Err(DatabaseError::Closed)
        ));
    }
}
