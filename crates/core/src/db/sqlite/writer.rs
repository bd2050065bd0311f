//! The thread that runs all write transactions, one after another, on its own connection.
//!
//! Transactions that are queued while it writes form a group: one COMMIT, and so one flush, ends
//! the group, and then all callers receive their results. Within the group each transaction after
//! the first is a savepoint, so one that fails is rolled back alone. No caller is answered before
//! the flush, not even one that has only read, because it may have read what is not yet committed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::checkpoint::Checkpointer;
use super::connection::{SqliteConnection, lock};
use super::transaction::{Group, SqliteTransaction};
use crate::db::DatabaseError;
use crate::db::announcer::Announcer;

/// Maximum number of transactions in a group, and how long it takes no more of them, so that the
/// first one does not wait long.
const MAX_GROUP: usize = 64;
const MAX_GROUP_TIME: Duration = Duration::from_millis(10);

pub(in crate::db) type Work =
    Box<dyn FnOnce(SqliteTransaction) -> BoxFuture<'static, Reply> + Send>;
/// Sends its result to the caller, or the reason why its group was not committed.
pub(in crate::db) type Reply = Box<dyn FnOnce(Result<(), DatabaseError>) + Send>;

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
        let group = Group::new(connection);
        let run = move || run(group, checkpointer, &announcer, &runtime, tasks);
        thread.spawn(run).map_err(DatabaseError::Thread)?;
        Ok(Self(queue))
    }

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
    group: Group,
    checkpointer: Checkpointer,
    announcer: &Announcer,
    runtime: &Handle,
    tasks: mpsc::Receiver<Task>,
) {
    let group = Arc::new(Mutex::new(group));
    while let Ok(first) = tasks.recv() {
        let started = Instant::now();
        let mut replies = Vec::new();
        let mut close = None;
        let mut next = Some(first);
        while let Some(task) = next.take() {
            match task {
                Task::Run(work) => run_one(&group, runtime, work, &mut replies),
                Task::Close(reply) => close = Some(reply),
            }
            let is_full = replies.len() >= MAX_GROUP || started.elapsed() >= MAX_GROUP_TIME;
            if close.is_none() && !is_full {
                next = tasks.try_recv().ok();
            }
        }
        let end = lock(&group).end();
        let end = end.map(|changes| announcer.announce(&changes));
        answer(replies, &end);
        checkpointer.after_transaction(&lock(&group).connection);
        if let Some(reply) = close {
            checkpointer.close();
            drop((group, tasks));
            // The caller may have stopped waiting.
            let _ = reply.send(());
            return;
        }
    }
}

/// Runs one transaction of a group and keeps its reply. A panic drops the reply, so the caller gets
/// an error; the other transactions are not affected.
fn run_one(group: &Arc<Mutex<Group>>, runtime: &Handle, work: Work, replies: &mut Vec<Reply>) {
    let was_open = lock(group).is_open();
    let transaction = SqliteTransaction::new(Arc::clone(group));
    let done = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work(transaction))));
    if was_open && !lock(group).is_open() {
        // This transaction has failed so that SQLite rolled back the others, too.
        answer(std::mem::take(replies), &lock(group).lost());
    }
    match done {
        Ok(reply) => replies.push(reply),
        Err(_) => tracing::error!("a transaction has panicked"),
    }
}

/// Tells each caller how its group ended.
fn answer(replies: impl IntoIterator<Item = Reply>, end: &Result<(), DatabaseError>) {
    for reply in replies {
        reply(match end {
            Ok(()) => Ok(()),
            Err(DatabaseError::Sqlite(rusqlite::Error::SqliteFailure(code, text))) => {
                Err(rusqlite::Error::SqliteFailure(*code, text.clone()).into())
            }
            Err(_) => Err(DatabaseError::Cancelled),
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::tests::{INSERT, numbers, opened, with_table};
    use super::*;
    use crate::model::Change;

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

    /// Runs transactions in one group: they are queued while an earlier one still runs.
    async fn in_one_group<T: Send + 'static>(
        sqlite: &super::super::Sqlite,
        works: Vec<Box<dyn FnOnce(SqliteTransaction) -> T + Send>>,
    ) -> Vec<Result<T, DatabaseError>> {
        let (release, held) = mpsc::channel::<()>();
        let holding = sqlite.transact(async move |_| held.recv().unwrap());
        let works = works
            .into_iter()
            .map(|work| sqlite.transact(async move |open| work(open)));
        let mut all = Box::pin(futures_util::future::join(
            holding,
            futures_util::future::join_all(works),
        ));
        assert!(all.as_mut().now_or_never().is_none());
        release.send(()).unwrap();
        all.await.1
    }

    fn insert(mut open: SqliteTransaction) -> Result<(), DatabaseError> {
        open.execute(INSERT, &[vec![]])?;
        open.commit(&[])
    }

    #[tokio::test]
    async fn queued_transactions_share_one_commit_and_one_announcement() {
        let directory = tempfile::tempdir().unwrap();
        let announcer = Announcer::default();
        let sqlite = super::super::Sqlite::open(
            &directory.path().join("test.db"),
            announcer.clone(),
            Handle::current(),
        )
        .unwrap();
        let make = async |mut open: SqliteTransaction| {
            open.execute_script("CREATE TABLE numbers (number BIGINT)")?;
            open.commit(&[])
        };
        sqlite.transact(make).await.unwrap().unwrap();
        let announced = Arc::new(Mutex::new(Vec::new()));
        announcer.add({
            let announced = Arc::clone(&announced);
            move |changes| lock(&announced).push(changes.len())
        });
        let announcing = |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]])?;
            open.commit(&[Change::Queue])
        };
        let done = in_one_group(
            &sqlite,
            vec![
                Box::new(announcing),
                Box::new(announcing),
                Box::new(announcing),
            ],
        )
        .await;
        assert!(done.into_iter().all(|one| one.unwrap().is_ok()));
        assert_eq!((numbers(&sqlite), &*lock(&announced)), (3, &vec![3]));
    }

    #[tokio::test]
    async fn a_transaction_that_fails_is_rolled_back_alone() {
        let (_directory, sqlite) = with_table().await;
        let failing = |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]])?;
            open.execute("INSERT INTO missing VALUES (1)", &[vec![]])?;
            open.commit(&[])
        };
        let dropped = |mut open: SqliteTransaction| open.execute(INSERT, &[vec![]]).map(drop);
        let panicking = |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]]).unwrap();
            panic!("intended by the test");
        };
        for first in [true, false] {
            let before = numbers(&sqlite);
            let mut works: Vec<Box<dyn FnOnce(SqliteTransaction) -> _ + Send>> = vec![
                Box::new(failing),
                Box::new(dropped),
                Box::new(panicking),
                Box::new(insert),
                Box::new(insert),
            ];
            if !first {
                works.rotate_right(1);
            }
            let done = in_one_group(&sqlite, works).await;
            let stored = done.iter().filter(|one| matches!(one, Ok(Ok(())))).count();
            let panicked = |one: &&Result<_, _>| matches!(one, Err(DatabaseError::Panicked));
            assert_eq!((stored, done.iter().filter(panicked).count()), (3, 1));
            assert_eq!(numbers(&sqlite), before + 2);
        }
    }

    #[tokio::test]
    async fn a_commit_that_fails_is_the_error_of_every_transaction_of_the_group() {
        let (_directory, sqlite) = with_table().await;
        let reference = async |mut open: SqliteTransaction| {
            open.execute_script(
                "CREATE TABLE parents (number INTEGER PRIMARY KEY);
                 CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)",
            )?;
            open.commit(&[])
        };
        sqlite.transact(reference).await.unwrap().unwrap();
        let orphan = |mut open: SqliteTransaction| {
            open.execute("INSERT INTO children VALUES (7)", &[vec![]])?;
            open.commit(&[])
        };
        let done = in_one_group(
            &sqlite,
            vec![Box::new(insert), Box::new(orphan), Box::new(insert)],
        )
        .await;
        assert!(
            done.iter()
                .all(|one| matches!(one, Err(DatabaseError::Sqlite(_)))),
            "{done:?}"
        );
        assert_eq!(numbers(&sqlite), 0);
        sqlite
            .transact(async |open| insert(open))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(numbers(&sqlite), 1);
    }
}
