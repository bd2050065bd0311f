//! The requests to stop the server: SIGTERM, SIGINT and, with `--exit-with-stdin`, the end of standard input.

use std::io;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// The requests to stop, in the order in which they arrive.
pub(super) struct StopRequests {
    terminate: Signal,
    interrupt: Signal,
    /// The thread that reads standard input until it ends.
    stdin: Option<oneshot::Receiver<()>>,
}

impl StopRequests {
    /// Listens from now on.
    ///
    /// # Errors
    /// The operating system's, if a signal cannot be caught or the thread that reads standard input cannot start.
    pub(super) fn listen(exit_with_stdin: bool) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            stdin: if exit_with_stdin { Some(end_of_stdin()?) } else { None },
        })
    }

    /// Waits for the next request.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = ended(self.stdin.as_mut()) => self.stdin = None,
        }
    }
}

async fn ended(stdin: Option<&mut oneshot::Receiver<()>>) {
    match stdin {
        // The thread answers once. If it is lost, standard input is no longer read, so this counts as its end.
        Some(end) => drop(end.await),
        None => std::future::pending().await,
    }
}

/// A separate thread, because a blocked read of standard input cannot be cancelled.
fn end_of_stdin() -> io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Data from standard input is ignored. If it cannot be read, it has ended.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    })?;
    Ok(end)
}
