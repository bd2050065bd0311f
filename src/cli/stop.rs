//! The requests to stop a process: signals and, where it depends on something, the end of that, for
//! example of standard input.

use std::io;
use std::thread;

use tokio::sync::oneshot;

use crate::os::StopSignals;

/// The requests to stop, in the order in which they arrive.
pub(super) struct StopRequests {
    signals: StopSignals,
    ended: Option<Ended>,
}

/// What a thread waits for.
pub(super) type Ended = oneshot::Receiver<()>;

impl StopRequests {
    /// Starts listening for the requests.
    ///
    /// # Errors
    /// The operating system's, if a signal cannot be caught.
    pub(super) fn listen(ended: Option<Ended>, ignores_interrupt: bool) -> io::Result<Self> {
        Ok(Self {
            signals: StopSignals::listen(ignores_interrupt)?,
            ended,
        })
    }

    /// Waits for the next request.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            () = self.signals.next() => {}
            () = end_of(self.ended.as_mut()) => self.ended = None,
        }
    }
}

async fn end_of(ended: Option<&mut Ended>) {
    match ended {
        // The thread sends one value. If it ended without one, it waits no longer.
        Some(end) => drop(end.await),
        None => std::future::pending().await,
    }
}

/// The end of standard input.
///
/// # Errors
/// The operating system's, if the thread cannot start.
pub(super) fn end_of_stdin() -> io::Result<Ended> {
    // Data from standard input is ignored. An error counts as its end.
    after("stdin", || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    })
}

/// The end of `wait`, which runs in a thread of its own, because it blocks and cannot be cancelled.
///
/// # Errors
/// The operating system's, if the thread cannot start.
pub(super) fn after(name: &str, wait: impl FnOnce() + Send + 'static) -> io::Result<Ended> {
    let (sender, ended) = oneshot::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            wait();
            let _ = sender.send(());
        })?;
    Ok(ended)
}
