//! Unix: file modes, the limit on descriptors, statvfs, and signals.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_postgres::config::Host;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// Whether a listener can use an address while connections of an earlier process are still being
/// closed.
pub(crate) const REUSES_ADDRESSES: bool = true;

/// Makes a new file accessible only to its owner.
pub(crate) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(FILE_MODE)
}

/// Makes a new directory accessible only to its owner.
pub(crate) fn private_directory(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(DIRECTORY_MODE)
}

/// Whether other users have any access to the file.
pub(crate) fn others_may_access(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & OTHERS != 0
}

/// Differs between a file and another one that has replaced it.
pub(crate) fn file_identity(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// The bytes that an unprivileged process can still write on the disk of `path`.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Flushes the names of the files in a directory.
pub(crate) fn flush_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The name of this host.
pub(crate) fn host_name() -> Option<String> {
    rustix::system::uname()
        .nodename()
        .to_str()
        .ok()
        .map(str::to_owned)
}

/// Raises the limit on open files to `wanted`, or as far as the system allows, and returns the new
/// limit.
pub(crate) fn raise_open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    match current {
        Some(current) if current < raised => {
            let set = setrlimit(
                Resource::Nofile,
                Rlimit {
                    current: Some(raised),
                    maximum,
                },
            );
            // If the system rejects the new limit, the old one remains.
            if set.is_ok() { raised } else { current }
        }
        current => current.unwrap_or(u64::MAX),
    }
}

/// The name of a database server, or the directory of its socket.
pub(crate) fn database_host(host: &Host) -> Cow<'_, str> {
    match host {
        Host::Tcp(name) => Cow::Borrowed(name),
        Host::Unix(directory) => directory.to_string_lossy(),
    }
}

pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Starts listening for the signals; needs a Tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
