//! Windows: files inherit their permissions, handles are not limited, and the console sends stop
//! events.

use std::borrow::Cow;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};
use tokio_postgres::config::Host;

/// On Windows, the option would let a second process use the port of a running one. For the other
/// purpose, Windows needs no option.
pub const REUSES_ADDRESSES: bool = false;

/// Not without unsafe code.
pub fn lower_priority() {}

/// A new file inherits its permissions from its directory. Files in a user's profile are accessible
/// only to that user.
pub fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// See [`private_file`].
pub fn private_directory(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// Permissions are inherited, and are not checked here.
pub fn others_may_access(_: &Metadata) -> bool {
    false
}

/// The directory for temporary files is in the user's profile.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// See [`is_own`].
pub fn scope() -> String {
    "tests".to_owned()
}

/// Makes the command start a process without a console, so that its events do not reach it.
pub fn detached(command: &mut Command) -> &mut Command {
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP)
}

/// Blocks until a process has ended. The standard library cannot open a process, so this asks the
/// system's own program.
pub fn wait_for_end(process: u32) -> io::Result<()> {
    let listed = || {
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        let mut list = Command::new("tasklist");
        list.creation_flags(CREATE_NO_WINDOW);
        list.args(["/NH", "/FO", "CSV", "/FI", &format!("PID eq {process}")]);
        let listed = list.output()?;
        let text = String::from_utf8_lossy(&listed.stdout);
        // Without an answer, the process counts as one that goes on.
        io::Result::Ok(!listed.status.success() || text.contains(&format!("\"{process}\"")))
    };
    while listed()? {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    Ok(())
}

/// Differs between a file and another one that has replaced it.
pub fn file_identity(metadata: &Metadata) -> u64 {
    metadata.creation_time()
}

/// The bytes that this user can still write on the disk of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    fs4::available_space(path)
}

/// The file system keeps the names of files by its own journal, and a directory cannot be opened as
/// a file.
pub fn flush_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Windows has no limit on handles and sockets that a process would reach.
pub fn raise_open_files(_: u64) -> u64 {
    u64::MAX
}

/// The name of a database server.
pub fn database_host(host: &Host) -> Cow<'_, str> {
    let Host::Tcp(name) = host;
    Cow::Borrowed(name)
}

/// The name of this host.
pub fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// Ctrl-C, Ctrl-Break, closing the console, and system shutdown.
pub struct StopSignals {
    interrupt: CtrlC,
    ignores_interrupt: bool,
    stop: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl StopSignals {
    /// Starts listening for the events; needs a Tokio runtime.
    pub fn listen(ignores_interrupt: bool) -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            ignores_interrupt,
            stop: ctrl_break()?,
            close: ctrl_close()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for the next event.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv(), if !self.ignores_interrupt => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}
