//! Writing the pages of a commit to the log with one system call.
//!
//! SQLite writes the header and the page of each frame apart: twenty system calls for a commit of ten pages, which are a
//! tenth of what a message costs. This is SQLite's own way to the files of the system (its VFS), but that what is written
//! to a log is collected until the log is flushed. That comes before anybody else may read it (`synchronous=FULL`).
//!
//! Safety, for all of this file: SQLite calls these functions as its documentation of `sqlite3_vfs` and
//! `sqlite3_io_methods` says, with files that [`open`] has opened and that are not closed yet, one call of a connection at
//! a time. Its default VFS and the methods of its files live as long as the process.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi::{
    SQLITE_ERROR, SQLITE_IOERR_NOMEM, SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename, sqlite3_io_methods,
    sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

/// Octets that are collected at most: SQLite's own way can write no more with one call.
const COLLECTED: usize = 0x1_ffff;

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
        if code == SQLITE_OK && flags & SQLITE_OPEN_WAL != 0 {
            (*file).pMethods = Log::of(&*(*file).pMethods);
        }
        code
    }
}

/// A log that a connection has opened.
#[repr(C)]
struct Log {
    /// How SQLite finds this: it is the first field, and what the file points to.
    methods: sqlite3_io_methods,
    default: &'static sqlite3_io_methods,
    collected: Vec<u8>,
    /// Where in the file they begin, in octets.
    offset: i64,
}

impl Log {
    /// Lives until [`close`].
    fn of(default: &'static sqlite3_io_methods) -> *const sqlite3_io_methods {
        let methods = sqlite3_io_methods {
            xClose: Some(close),
            xRead: Some(read),
            xWrite: Some(write),
            xTruncate: Some(truncate),
            xSync: Some(sync),
            xFileSize: Some(size),
            ..*default
        };
        Box::into_raw(Box::new(Self { methods, default, collected: Vec::new(), offset: 0 })).cast()
    }

    unsafe fn behind<'a>(file: *mut sqlite3_file) -> &'a mut Self {
        unsafe { &mut *(*file).pMethods.cast_mut().cast() }
    }

    fn collect(&mut self, file: *mut sqlite3_file, octets: &[u8], offset: i64) -> c_int {
        let end = i64::try_from(self.collected.len()).map(|octets| self.offset + octets);
        if end != Ok(offset) || self.collected.len() + octets.len() > COLLECTED {
            let code = self.write(file);
            if code != SQLITE_OK {
                return code;
            }
            self.offset = offset;
        }
        if self.collected.try_reserve(octets.len()).is_err() {
            return SQLITE_IOERR_NOMEM;
        }
        self.collected.extend_from_slice(octets);
        SQLITE_OK
    }

    /// Writes what is collected. What cannot be written is forgotten: the transaction that it is of ends here.
    fn write(&mut self, file: *mut sqlite3_file) -> c_int {
        if self.collected.is_empty() {
            return SQLITE_OK;
        }
        let (Some(write), Ok(amount)) = (self.default.xWrite, c_int::try_from(self.collected.len())) else {
            return SQLITE_ERROR;
        };
        let code = unsafe { write(file, self.collected.as_ptr().cast(), amount, self.offset) };
        self.collected.clear();
        code
    }
}

/// Writes what is collected, and then does what `next` makes of SQLite's own methods.
unsafe fn written(file: *mut sqlite3_file, next: impl FnOnce(&sqlite3_io_methods) -> Option<c_int>) -> c_int {
    let log = unsafe { Log::behind(file) };
    match log.write(file) {
        SQLITE_OK => next(log.default).unwrap_or(SQLITE_ERROR),
        code => code,
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, octets: *const c_void, amount: c_int, offset: i64) -> c_int {
    let Ok(amount) = usize::try_from(amount) else { return SQLITE_ERROR };
    unsafe { Log::behind(file).collect(file, std::slice::from_raw_parts(octets.cast(), amount), offset) }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    unsafe { written(file, |default| default.xSync.map(|sync| sync(file, flags))) }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, octets: *mut c_void, amount: c_int, offset: i64) -> c_int {
    unsafe { written(file, |default| default.xRead.map(|read| read(file, octets, amount, offset))) }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: i64) -> c_int {
    unsafe { written(file, |default| default.xTruncate.map(|truncate| truncate(file, size))) }
}

unsafe extern "C" fn size(file: *mut sqlite3_file, octets: *mut i64) -> c_int {
    unsafe { written(file, |default| default.xFileSize.map(|size| size(file, octets))) }
}

/// What is still collected is of a transaction that did not end.
unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    unsafe {
        let log = Box::from_raw(ptr::from_mut(Log::behind(file)));
        log.default.xClose.map_or(SQLITE_ERROR, |close| close(file))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OpenFlags};

    use super::*;

    fn connection(path: &std::path::Path) -> Connection {
        let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs().unwrap()).unwrap();
        connection.pragma_update(None, "synchronous", "FULL").unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = connection(&path);
        writer.execute_batch("CREATE TABLE noise (octets BLOB)").unwrap();
        let before = writes();
        writer.execute("INSERT INTO noise VALUES (randomblob(100000))", []).unwrap();
        assert_eq!(writes() - before, 1);
        assert_eq!(octets(&Connection::open(&path).unwrap()), 100_000);
    }

    #[test]
    fn a_transaction_reads_what_it_has_no_memory_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = connection(&path);
        writer.execute_batch("PRAGMA cache_size = 10; CREATE TABLE noise (octets BLOB); BEGIN").unwrap();
        for _ in 0..50 {
            writer.execute("INSERT INTO noise VALUES (randomblob(20000))", []).unwrap();
            writer.execute("UPDATE noise SET octets = randomblob(20000) WHERE rowid % 7 = 0", []).unwrap();
        }
        assert_eq!(octets(&writer), 1_000_000);
        writer
            .execute_batch("SAVEPOINT half; DELETE FROM noise WHERE rowid % 2 = 0; ROLLBACK TO half; COMMIT")
            .unwrap();
        let whole = writer.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(whole.unwrap(), "ok");
        assert_eq!(octets(&Connection::open(&path).unwrap()), 1_000_000);
    }

    #[test]
    fn what_is_not_committed_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = connection(&path);
        writer.execute_batch("PRAGMA cache_size = 10; CREATE TABLE noise (octets BLOB)").unwrap();
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
}
