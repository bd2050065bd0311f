//! Unix: file modes, the limit on descriptors, statvfs, and signals.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, getuid, setrlimit, test_kill_process};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_postgres::config::Host;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// In the system's unit, where 19 is the lowest: a tenth of the share of a thread that has 0.
#[cfg(target_os = "linux")]
const LOWER_PRIORITY: i32 = 10;
const OTHERS: u32 = 0o077;

/// Whether a listener can use an address while connections of an earlier process are still being
/// closed.
pub const REUSES_ADDRESSES: bool = true;

/// Makes this thread yield to the others of the machine.
pub fn lower_priority() {
    // Elsewhere it would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, LOWER_PRIORITY) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// Makes a new file accessible only to its owner.
pub fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(FILE_MODE)
}

/// Makes a new directory accessible only to its owner.
pub fn private_directory(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(DIRECTORY_MODE)
}

/// Whether other users have any access to the file.
pub fn others_may_access(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & OTHERS != 0
}

/// Whether the file belongs to this user.
pub fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == getuid().as_raw()
}

/// What tells the servers of this user apart from those that it cannot reach: another user's, and
/// on Linux those of other network namespaces.
pub fn scope() -> String {
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let network = network.to_string_lossy();
    let number = network.chars().filter(char::is_ascii_digit);
    format!("{}-{}", getuid().as_raw(), number.collect::<String>())
}

/// Makes the command start a process that signals of the terminal do not reach.
pub fn detached(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Blocks until a process of this user has ended.
pub fn wait_for_end(process: u32) -> io::Result<()> {
    let Some(process) = pid(process) else {
        return Ok(());
    };
    #[cfg(target_os = "linux")]
    if let Ok(process) = pidfd_open(process, PidfdFlags::empty()) {
        // It can be read when the process has ended, even if its parent has not asked for its
        // status.
        poll(&mut [PollFd::new(&process, PollFlags::IN)], None)?;
        return Ok(());
    }
    // Other systems, and sandboxes without the call.
    while test_kill_process(process).is_ok() {
        std::thread::sleep(Duration::from_millis(250));
    }
    Ok(())
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

/// Differs between a file and another one that has replaced it.
pub fn file_identity(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// The bytes that an unprivileged process can still write on the disk of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Flushes the names of the files in a directory.
pub fn flush_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The name of this host.
pub fn host_name() -> Option<String> {
    rustix::system::uname()
        .nodename()
        .to_str()
        .ok()
        .map(str::to_owned)
}

/// Raises the limit on open files to `wanted`, or as far as the system allows, and returns the new
/// limit.
pub fn raise_open_files(wanted: u64) -> u64 {
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
pub fn database_host(host: &Host) -> Cow<'_, str> {
    match host {
        Host::Tcp(name) => Cow::Borrowed(name),
        Host::Unix(directory) => directory.to_string_lossy(),
    }
}

pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    ignores_interrupt: bool,
}

impl StopSignals {
    /// Starts listening for the signals; needs a Tokio runtime.
    pub fn listen(ignores_interrupt: bool) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            ignores_interrupt,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv(), if !self.ignores_interrupt => {}
        }
    }
}
