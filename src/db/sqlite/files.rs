//! How the writing connections write SQLite's files: in SQLite's own way (its VFS for the system), but for three things.
//!
//! SQLite writes the header and the page of each frame of the log apart: twenty system calls for a commit of ten pages,
//! which are a tenth of what a message costs. Here what is written to the log is collected until the log is flushed. That
//! comes before anybody else may read it (`synchronous=FULL`); what has not been flushed when the writer gives up its lock is
//! of a transaction that did not end, and is forgotten.
//!
//! To flush a file that has grown takes half as long again, because the system has to note where the new octets are. So the
//! log grows by many zeros at a time, over which the next frames are written; to SQLite they are no frames.
//!
//! When the log is moved into the database, SQLite writes all its pages and then flushes them, and whoever flushes a commit
//! meanwhile waits for as long as the disk needs for them. Here the database is flushed again and again while it is written.
//!
//! Safety, for all of this file: SQLite calls these functions as its documentation of `sqlite3_vfs` and
//! `sqlite3_io_methods` says, with files that [`open`] has opened and that are not closed yet, one call of a connection at
//! a time. Its default VFS and the methods of its files live as long as the process.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rusqlite::ffi::{
    SQLITE_ERROR, SQLITE_IOERR_NOMEM, SQLITE_OK, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL, SQLITE_SHM_UNLOCK,
    SQLITE_SYNC_NORMAL, sqlite3_database_file_object, sqlite3_file, sqlite3_filename, sqlite3_io_methods, sqlite3_vfs,
    sqlite3_vfs_find, sqlite3_vfs_register,
};

/// Octets of the log that are collected at most: SQLite's own way can write no more with one call.
const COLLECTED: usize = 0x1_ffff;
/// What the log grows by, in octets.
const GROWTH: i64 = 256 * 1024;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
/// The lock of the log that its one writer holds (SQLite's file format, section "WAL-Index locks").
const WRITE_LOCK: c_int = 0;
/// Octets of the database after which it is flushed.
const UNFLUSHED: usize = 1024 * 1024;

/// Makes this VFS known to SQLite, once in a process, and answers its name.
///
/// # Errors
/// SQLite's own, where it has no memory for that.
pub(super) fn vfs() -> Result<&'static CStr, rusqlite::Error> {
    const NAME: &CStr = c"restante";
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(|| register(NAME)) {
        SQLITE_OK => Ok(NAME),
        code => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)),
    }
}

fn register(name: &'static CStr) -> c_int {
    unsafe {
        let Some(default) = sqlite3_vfs_find(ptr::null()).as_ref() else { return SQLITE_ERROR };
        let vfs = sqlite3_vfs { zName: name.as_ptr(), pNext: ptr::null_mut(), xOpen: Some(open), ..*default };
        sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0)
    }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_taken: *mut c_int,
) -> c_int {
    unsafe {
        let default = sqlite3_vfs_find(ptr::null()).as_ref();
        let Some(open) = default.and_then(|default| default.xOpen) else { return SQLITE_ERROR };
        let code = open(vfs, name, file, flags, flags_taken);
        if code == SQLITE_OK {
            let default = (*file).pMethods;
            (*file).pMethods = match flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB) {
                SQLITE_OPEN_WAL => {
                    let database = File::<Pages>::behind(sqlite3_database_file_object(name));
                    File::<Frames>::of(&*default, Arc::clone(&database.state.unlocked))
                }
                SQLITE_OPEN_MAIN_DB => File::<Pages>::of(&*default),
                _ => default,
            };
        }
        code
    }
}

/// A file that a connection has opened, and what is known of it besides.
#[repr(C)]
struct File<T> {
    /// How SQLite finds this: it is the first field, and what its own file points to.
    methods: sqlite3_io_methods,
    default: &'static sqlite3_io_methods,
    state: T,
}

impl<T> File<T> {
    /// Lives until it is closed.
    fn opened(
        default: &'static sqlite3_io_methods,
        methods: sqlite3_io_methods,
        state: T,
    ) -> *const sqlite3_io_methods {
        let methods = sqlite3_io_methods { xClose: Some(Self::close), ..methods };
        Box::into_raw(Box::new(Self { methods, default, state })).cast()
    }

    unsafe fn behind<'a>(file: *mut sqlite3_file) -> &'a mut Self {
        unsafe { &mut *(*file).pMethods.cast_mut().cast() }
    }

    unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
        unsafe {
            let this = Box::from_raw(ptr::from_mut(Self::behind(file)));
            this.default.xClose.map_or(SQLITE_ERROR, |close| close(file))
        }
    }

    fn write_now(&self, file: *mut sqlite3_file, octets: &[u8], offset: i64) -> c_int {
        let (Some(write), Ok(amount)) = (self.default.xWrite, c_int::try_from(octets.len())) else {
            return SQLITE_ERROR;
        };
        unsafe { write(file, octets.as_ptr().cast(), amount, offset) }
    }
}

unsafe fn octets<'a>(octets: *const c_void, amount: c_int) -> &'a [u8] {
    unsafe { std::slice::from_raw_parts(octets.cast(), usize::try_from(amount).unwrap_or(0)) }
}

/// What is collected of the log.
struct Frames {
    collected: Vec<u8>,
    /// [`Pages::unlocked`].
    unlocked: Arc<AtomicBool>,
    /// Where in the file they begin, in octets.
    offset: i64,
    /// How far the file reaches at least, in octets.
    size: i64,
}

impl File<Frames> {
    fn of(default: &'static sqlite3_io_methods, unlocked: Arc<AtomicBool>) -> *const sqlite3_io_methods {
        let methods = sqlite3_io_methods {
            xRead: Some(Self::read),
            xWrite: Some(Self::write),
            xTruncate: Some(Self::truncate),
            xSync: Some(Self::sync),
            xFileSize: Some(Self::size),
            ..*default
        };
        Self::opened(default, methods, Frames { collected: Vec::new(), unlocked, offset: 0, size: 0 })
    }

    /// Forgets what is collected of a transaction that has ended without a commit: another process may have written its own
    /// frames there.
    fn forget_what_has_ended(&mut self) {
        if self.state.unlocked.swap(false, Ordering::Relaxed) {
            self.state.collected.clear();
        }
    }

    fn collect(&mut self, file: *mut sqlite3_file, octets: &[u8], offset: i64) -> c_int {
        self.forget_what_has_ended();
        let Frames { collected, offset: begin, .. } = &self.state;
        let end = i64::try_from(collected.len()).map(|octets| begin + octets);
        if end != Ok(offset) || collected.len() + octets.len() > COLLECTED {
            let code = self.write_collected(file);
            if code != SQLITE_OK {
                return code;
            }
            self.state.offset = offset;
        }
        let collected = &mut self.state.collected;
        if collected.try_reserve(octets.len()).is_err() {
            return SQLITE_IOERR_NOMEM;
        }
        collected.extend_from_slice(octets);
        SQLITE_OK
    }

    /// What cannot be written is forgotten: the transaction that it is of ends here.
    fn write_collected(&mut self, file: *mut sqlite3_file) -> c_int {
        let Frames { collected, offset, .. } = &self.state;
        if collected.is_empty() {
            return SQLITE_OK;
        }
        let code = self.write_now(file, collected, *offset);
        let end = offset + i64::try_from(collected.len()).unwrap_or(0);
        if code == SQLITE_OK && end > self.state.size {
            self.grow(file, end);
        }
        self.state.collected.clear();
        code
    }

    /// Writes zeros behind `end`, where no frame is. A disk that has no room for them may have some for the next frames.
    fn grow(&mut self, file: *mut sqlite3_file, end: i64) {
        let goal = end + GROWTH - end % GROWTH;
        let zeros = |begin| usize::try_from(goal - begin).map_or(0, |size| size.min(ZEROS.len()));
        let mut pieces = (end..goal).step_by(ZEROS.len());
        let has_grown = pieces.all(|begin| self.write_now(file, &ZEROS[..zeros(begin)], begin) == SQLITE_OK);
        self.state.size = if has_grown { goal } else { end };
    }

    /// Writes what is collected, and then does what `next` makes of SQLite's own methods.
    unsafe fn written(file: *mut sqlite3_file, next: impl FnOnce(&sqlite3_io_methods) -> Option<c_int>) -> c_int {
        let this = unsafe { Self::behind(file) };
        this.forget_what_has_ended();
        match this.write_collected(file) {
            SQLITE_OK => next(this.default).unwrap_or(SQLITE_ERROR),
            code => code,
        }
    }

    unsafe extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, amount: c_int, offset: i64) -> c_int {
        unsafe { Self::behind(file).collect(file, octets(data, amount), offset) }
    }

    unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
        unsafe { Self::written(file, |default| default.xSync.map(|sync| sync(file, flags))) }
    }

    unsafe extern "C" fn read(file: *mut sqlite3_file, data: *mut c_void, amount: c_int, offset: i64) -> c_int {
        unsafe { Self::written(file, |default| default.xRead.map(|read| read(file, data, amount, offset))) }
    }

    unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: i64) -> c_int {
        unsafe {
            let code = Self::written(file, |default| default.xTruncate.map(|truncate| truncate(file, size)));
            let state = &mut Self::behind(file).state;
            state.size = state.size.min(size);
            code
        }
    }

    unsafe extern "C" fn size(file: *mut sqlite3_file, octets: *mut i64) -> c_int {
        unsafe { Self::written(file, |default| default.xFileSize.map(|size| size(file, octets))) }
    }
}

/// What is known of the database.
#[derive(Default)]
struct Pages {
    /// Octets that have been written since it was last flushed in between.
    unflushed: usize,
    /// Whether the lock on writing has been released since the log was last used. What was committed is flushed before.
    unlocked: Arc<AtomicBool>,
}

impl File<Pages> {
    fn of(default: &'static sqlite3_io_methods) -> *const sqlite3_io_methods {
        let methods = sqlite3_io_methods { xWrite: Some(Self::write), xShmLock: Some(Self::lock), ..*default };
        Self::opened(default, methods, Pages::default())
    }

    unsafe extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, amount: c_int, offset: i64) -> c_int {
        let (this, octets) = unsafe { (Self::behind(file), octets(data, amount)) };
        let code = this.write_now(file, octets, offset);
        this.state.unflushed += octets.len();
        if code != SQLITE_OK || this.state.unflushed < UNFLUSHED {
            return code;
        }
        this.state.unflushed = 0;
        this.default.xSync.map_or(SQLITE_ERROR, |sync| unsafe { sync(file, SQLITE_SYNC_NORMAL) })
    }

    unsafe extern "C" fn lock(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
        let this = unsafe { Self::behind(file) };
        if first == WRITE_LOCK && flags & SQLITE_SHM_UNLOCK != 0 {
            this.state.unlocked.store(true, Ordering::Relaxed);
        }
        this.default.xShmLock.map_or(SQLITE_ERROR, |lock| unsafe { lock(file, first, count, flags) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rusqlite::{Connection, OpenFlags};

    use super::*;

    fn writer() -> (tempfile::TempDir, PathBuf, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs().unwrap()).unwrap();
        writer.pragma_update(None, "synchronous", "FULL").unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.execute_batch("PRAGMA cache_size = 10; CREATE TABLE noise (octets BLOB)").unwrap();
        (directory, path, writer)
    }

    fn assert_whole(connection: &Connection) {
        let whole = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(whole.unwrap(), "ok");
    }

    fn octets(connection: &Connection) -> i64 {
        connection.query_row("SELECT SUM(LENGTH(octets)) FROM noise", [], |row| row.get(0)).unwrap()
    }

    /// The calls of this thread that have written something.
    fn writes() -> u64 {
        let counters = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        counters.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap().parse().unwrap()
    }

    #[test]
    fn a_commit_is_one_write_and_others_read_it() {
        let (_directory, path, writer) = writer();
        let before = writes();
        writer.execute("INSERT INTO noise VALUES (randomblob(100000))", []).unwrap();
        assert_eq!(writes() - before, 1);
        assert_eq!(std::fs::metadata(path.with_extension("db-wal")).unwrap().len(), 256 * 1024);
        assert_eq!(octets(&Connection::open(&path).unwrap()), 100_000);
    }

    #[test]
    fn a_transaction_reads_what_it_has_no_memory_for() {
        let (_directory, path, writer) = writer();
        writer.execute_batch("BEGIN").unwrap();
        for _ in 0..50 {
            writer.execute("INSERT INTO noise VALUES (randomblob(20000))", []).unwrap();
            writer.execute("UPDATE noise SET octets = randomblob(20000) WHERE rowid % 7 = 0", []).unwrap();
        }
        assert_eq!(octets(&writer), 1_000_000);
        writer
            .execute_batch("SAVEPOINT half; DELETE FROM noise WHERE rowid % 2 = 0; ROLLBACK TO half; COMMIT")
            .unwrap();
        assert_whole(&writer);
        assert_eq!(octets(&Connection::open(&path).unwrap()), 1_000_000);
    }

    #[test]
    fn a_log_that_has_been_cut_off_grows_again() {
        let (_directory, path, writer) = writer();
        let log = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        writer.pragma_update(None, "journal_size_limit", 100_000).unwrap();
        writer.execute("INSERT INTO noise VALUES (randomblob(1000000))", []).unwrap();
        writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        writer.execute("INSERT INTO noise VALUES (randomblob(10000))", []).unwrap();
        assert_eq!(log(), 100_000);
        writer.execute("INSERT INTO noise VALUES (randomblob(100000))", []).unwrap();
        assert_eq!(log(), 256 * 1024);
        assert_eq!(octets(&Connection::open(&path).unwrap()), 1_110_000);
    }

    #[test]
    fn what_is_not_committed_leaves_no_trace() {
        let (_directory, path, writer) = writer();
        writer.execute("INSERT INTO noise VALUES (randomblob(10))", []).unwrap();
        for _ in 0..3 {
            writer.execute_batch("BEGIN").unwrap();
            writer.execute("INSERT INTO noise VALUES (randomblob(1000000))", []).unwrap();
            writer.execute_batch("ROLLBACK").unwrap();
            writer.execute("INSERT INTO noise VALUES (randomblob(10))", []).unwrap();
        }
        assert_eq!((octets(&writer), octets(&Connection::open(&path).unwrap())), (40, 40));
        drop(writer);
        assert_eq!(octets(&Connection::open(&path).unwrap()), 40);
    }

    /// Another process may have written its own frames where they would have been.
    #[test]
    fn frames_of_a_transaction_that_did_not_end_are_not_written_later() {
        let (_directory, path, writer) = writer();
        let other = Connection::open(&path).unwrap();
        // So that a rollback has no reason to look into the log.
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        writer.execute_batch("BEGIN").unwrap();
        writer.execute("INSERT INTO noise VALUES (randomblob(100000))", []).unwrap();
        writer.execute_batch("ROLLBACK").unwrap();
        other.execute("INSERT INTO noise VALUES (zeroblob(100000))", []).unwrap();
        writer.execute("INSERT INTO noise VALUES (randomblob(1000))", []).unwrap();
        let intact = "SELECT COUNT(*) FROM noise WHERE octets = zeroblob(100000)";
        drop(other);
        let reader = Connection::open(&path).unwrap();
        assert_eq!(reader.query_row(intact, [], |row| row.get(0)), Ok(1));
        assert_whole(&reader);
    }
}
