//! The requests to stop the server: signals and, with `--exit-with-stdin`, the end of standard
//! input.

use std::io;
use std::thread;

use tokio::sync::oneshot;

use crate::os::StopSignals;

/// The requests to stop, in the order in which they arrive.
pub(super) struct StopRequests {
    signals: StopSignals,
    /// The thread that reads standard input until it ends.
    stdin: Option<oneshot::Receiver<()>>,
}

impl StopRequests {
    /// Starts listening for the requests.
    ///
    /// # Errors
    /// The operating system's, if a signal cannot be caught or the thread that reads standard input
    /// cannot start.
    pub(super) fn listen(exit_with_stdin: bool) -> io::Result<Self> {
        Ok(Self {
            signals: StopSignals::listen()?,
            stdin: if exit_with_stdin {
                Some(end_of_stdin()?)
            } else {
                None
            },
        })
    }

    /// Waits for the next request.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            () = self.signals.next() => {}
            () = ended(self.stdin.as_mut()) => self.stdin = None,
        }
    }
}

async fn ended(stdin: Option<&mut oneshot::Receiver<()>>) {
    match stdin {
        // The thread sends one value. If it ended without one, standard input is no longer read, as
        // at its end.
        Some(end) => drop(end.await),
        None => std::future::pending().await,
    }
}

/// A separate thread, because a blocked read of standard input cannot be cancelled.
fn end_of_stdin() -> io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            // Data from standard input is ignored. An error counts as its end.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = ended.send(());
        })?;
    Ok(end)
}
