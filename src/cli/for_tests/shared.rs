//! A server that several processes own, of any language and also at the same moment.
//!
//! An owner has a shared lock on the file `owners` in the server's directory. The server ends when
//! it gets that lock for itself, because no owner is left.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;

use super::super::child::first_line;
use super::super::data_dir::open;
use super::super::output;
use super::super::stop::{self, Ended, StopRequests};
use super::directory::{DirectoryError, Published, RunDirectory, UserDirectory};
use crate::os;

const OWNERS: &str = "owners";
/// How often a server looks whether it still has an owner.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a server may take to start.
const START_WITHIN: Duration = Duration::from_secs(60);
const MAX_NAME: usize = 100;

/// Why no shared server can be used.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum SharedError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("cannot lock {}", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot start the shared server")]
    Spawn(#[source] io::Error),
    #[error("the shared server did not start: {0}")]
    NotStarted(String),
    #[error("cannot print the line of the shared server")]
    Output(#[source] io::Error),
    #[error("cannot wait for the end of the owner")]
    Wait(#[source] io::Error),
}

/// The name of a shared server, which is also a part of a file name.
#[derive(Clone, Debug)]
pub(super) struct Name(String);

/// The text cannot be the name of a shared server.
#[derive(Debug, thiserror::Error)]
#[error("write 1 to {MAX_NAME} letters, digits, `-` and `_`")]
pub(super) struct InvalidName;

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName)
        }
    }
}

/// Owns the server until standard input ends, or this process.
pub(super) fn own_until_stdin_ends(name: &Name) -> Result<(), SharedError> {
    let owned = Owned::take(name)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(SharedError::Wait)?;
    runtime
        .block_on(async {
            let ended = stop::end_of_stdin()?;
            let mut requests = StopRequests::listen(Some(ended), super::is_for_a_runner())?;
            owned.print()?;
            requests.next().await;
            Ok(())
        })
        .map_err(SharedError::Wait)
}

/// Starts a process that owns the server for `--owner`, and returns when that has printed the line.
pub(super) fn own_in_background() -> Result<(), SharedError> {
    let line = start_again(&["--background"])?;
    output::line(&line).map_err(SharedError::Output)
}

/// Owns the server until the process has ended.
pub(super) fn own_for(name: &Name, process: u32) -> Result<(), SharedError> {
    let owned = Owned::take(name)?;
    owned.print().map_err(SharedError::Output)?;
    os::wait_for_end(process).map_err(SharedError::Wait)
}

/// One owner's share of a server.
struct Owned {
    line: String,
    _lock: File,
}

impl Owned {
    /// Takes the running server of this name, or starts it.
    fn take(name: &Name) -> Result<Self, SharedError> {
        let user = UserDirectory::enter()?;
        if let Some(server) = user.find(&name.0) {
            let _lock = lock_owners(&server.directory)?;
            let line = server.line;
            return Ok(Self { line, _lock });
        }
        let directory = user.create()?.path().to_owned();
        let _lock = lock_owners(&directory)?;
        let line = start_again(&["--directory".as_ref(), directory.as_os_str()])?;
        let server = Published { directory, line };
        user.publish(&name.0, &server)?;
        let line = server.line;
        Ok(Self { line, _lock })
    }

    fn print(&self) -> io::Result<()> {
        output::line(&self.line)
    }
}

fn lock_owners(directory: &Path) -> Result<File, SharedError> {
    let path = directory.join(OWNERS);
    let locked = open(&path).and_then(|file| file.lock_shared().map(|()| file));
    locked.map_err(|source| SharedError::Lock { path, source })
}

/// Starts this command once more with additional flags, as a process that goes on after this one,
/// and returns the line that it prints.
fn start_again<S: AsRef<std::ffi::OsStr>>(flags: &[S]) -> Result<String, SharedError> {
    let mut command = Command::new(std::env::current_exe().map_err(SharedError::Spawn)?);
    command.args(std::env::args_os().skip(1)).args(flags);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = os::detached(&mut command)
        .spawn()
        .map_err(SharedError::Spawn)?;
    // The user's directory is locked meanwhile.
    let reason = match first_line(&mut child).recv_timeout(START_WITHIN) {
        Ok(line) => return Ok(line.trim_end().to_owned()),
        Err(RecvTimeoutError::Timeout) => {
            let _ = child.kill();
            format!("it printed nothing within {} s", START_WITHIN.as_secs())
        }
        Err(RecvTimeoutError::Disconnected) => {
            let mut reason = String::new();
            if let Some(mut errors) = child.stderr.take() {
                let read = errors.read_to_string(&mut reason);
                read.map_err(SharedError::Spawn)?;
            }
            reason.trim().trim_start_matches("restante: ").to_owned()
        }
    };
    let _ = child.wait();
    Err(SharedError::NotStarted(reason))
}

/// Waits in a thread until the server has no owner, and lets nobody find it from then on.
pub(super) fn end_of_owners(name: &Name, directory: &RunDirectory) -> Result<Ended, SharedError> {
    let path = directory.path().join(OWNERS);
    let owners = open(&path).map_err(|source| SharedError::Lock { path, source })?;
    let name = name.0.clone();
    let watch = move || {
        while !is_orphaned(&owners, &name) {
            thread::sleep(INTERVAL);
        }
    };
    stop::after("owners", watch).map_err(SharedError::Spawn)
}

fn is_orphaned(owners: &File, name: &str) -> bool {
    if owners.try_lock().is_err() || owners.unlock().is_err() {
        return false;
    }
    // No owner can come while this has the user's directory, so the next look decides. If that is
    // gone, nobody can find the server any longer.
    let user = UserDirectory::enter();
    let is_orphaned = owners.try_lock().is_ok();
    if let Ok(user) = user
        && is_orphaned
    {
        user.withdraw(name);
    }
    is_orphaned
}
