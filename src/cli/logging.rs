//! The log of a server, on standard error: readable lines or JSON, filtered by `RESTANTE_LOG` or
//! `RUST_LOG`.
//!
//! A separate thread writes the queued lines, so that a slow or stuck reader does not delay the
//! server. Lines that do not fit into the queue, or cannot be written, are dropped and counted.

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::error::CliError;
use crate::config::{LogFormat, SettingsError};
use crate::metrics;

const FILTER_VARIABLES: [&str; 2] = ["RESTANTE_LOG", "RUST_LOG"];
/// Maximum number of lines in the queue.
const QUEUED_LINES: usize = 4_096;
/// Bytes that are written at once while more lines are queued.
const WRITTEN_AT_ONCE: usize = 32 * 1024;
/// How often dropped lines are reported.
const REPORTED_EVERY: Duration = Duration::from_secs(1);

/// The running log; dropping it writes the queued lines.
pub(super) struct Log {
    _worker: WorkerGuard,
    dropped: DroppedLines,
}

/// The number of lines that were dropped since the start.
#[derive(Clone)]
pub(super) struct DroppedLines {
    not_queued: ErrorCounter,
    not_written: Arc<AtomicUsize>,
}

/// Starts logging for the whole process, to the file or else to standard error.
///
/// # Errors
/// [`CliError`] if a filter cannot be read, or the file not be created.
pub(super) fn start(format: LogFormat, file: Option<&Path>) -> Result<Log, CliError> {
    let filter = filter()?;
    let (writer, log) = match file {
        Some(path) => queue(File::create(path).map_err(CliError::other)?),
        None => queue(io::stderr()),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(writer)
        .log_internal_errors(false)
        .with_ansi(file.is_none() && io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.finish().with(filter).init(),
        LogFormat::Json => subscriber.json().finish().with(filter).init(),
    }
    // A panic goes to the log instead of directly to standard error.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(log)
}

fn queue(output: impl Write + Send + 'static) -> (NonBlocking, Log) {
    let not_written = Arc::default();
    let writer = LineWriter {
        output,
        lines: Vec::new(),
        not_written: Arc::clone(&not_written),
    };
    let builder = NonBlockingBuilder::default()
        .buffered_lines_limit(QUEUED_LINES)
        .thread_name("log");
    let (writer, worker) = builder.lossy(true).finish(writer);
    let dropped = DroppedLines {
        not_queued: writer.error_counter(),
        not_written,
    };
    (
        writer,
        Log {
            _worker: worker,
            dropped,
        },
    )
}

fn filter() -> Result<Targets, SettingsError> {
    for variable in FILTER_VARIABLES {
        let Some(text) = env::var(variable).ok().filter(|text| !text.is_empty()) else {
            continue;
        };
        return text.parse().map_err(|error: ParseError| {
            SettingsError::new(
                variable,
                error.to_string(),
                "Write a level like debug, or restante=debug,info",
            )
        });
    }
    Ok(Targets::new().with_default(LevelFilter::INFO))
}

impl Log {
    pub(super) fn dropped_lines(&self) -> DroppedLines {
        self.dropped.clone()
    }
}

impl DroppedLines {
    fn count(&self) -> usize {
        self.not_queued
            .dropped_lines()
            .saturating_add(self.not_written.load(Ordering::Relaxed))
    }

    /// Counts dropped lines in the metrics and reports them in the log while it is polled. A report
    /// that is itself dropped is repeated.
    pub(super) async fn report(self) {
        let mut reported = 0;
        loop {
            tokio::time::sleep(REPORTED_EVERY).await;
            let dropped = self.count();
            metrics::log_lines_dropped(dropped);
            if dropped > reported {
                tracing::warn!(
                    dropped,
                    "log lines dropped since the start; standard error is too slow"
                );
                reported = dropped;
            }
        }
    }
}

/// Writes several lines at once and never fails: lines that cannot be written are counted and
/// dropped.
struct LineWriter<W> {
    output: W,
    lines: Vec<u8>,
    not_written: Arc<AtomicUsize>,
}

impl<W: Write> Write for LineWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.extend_from_slice(line);
        if self.lines.len() >= WRITTEN_AT_ONCE {
            self.flush()?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.output.write_all(&self.lines).is_err() {
            let lines = self.lines.iter().filter(|byte| **byte == b'\n').count();
            self.not_written.fetch_add(lines, Ordering::Relaxed);
        }
        self.lines.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// An output that blocks until the test releases it.
    struct Stuck(Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Returns once the sender is dropped.
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stuck_output_delays_nothing_and_its_lines_are_counted() {
        let (unblock, blocked) = channel();
        let (mut writer, log) = queue(Stuck(blocked));
        let written = 3 * QUEUED_LINES;
        for _ in 0..written {
            writer.write_all(b"line\n").unwrap();
        }
        // The queue is full, and one batch of lines is being written.
        let kept = written - log.dropped.count();
        assert!(
            (QUEUED_LINES..=QUEUED_LINES + WRITTEN_AT_ONCE / 5 + 1).contains(&kept),
            "{kept}"
        );
        drop(unblock);
    }

    #[test]
    fn a_line_that_cannot_be_written_is_counted() {
        let (mut writer, log) = queue(File::options().write(true).open("/dev/full").unwrap());
        let dropped = log.dropped_lines();
        for _ in 0..10 {
            writer.write_all(b"line\n").unwrap();
        }
        // Dropping it writes what is queued.
        drop(log);
        assert_eq!(dropped.count(), 10);
    }
}
