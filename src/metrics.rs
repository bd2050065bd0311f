//! All metrics of the service, for Prometheus.
//!
//! Counting costs almost nothing until [`install`] is called, which `restante serve` does if
//! metrics are enabled. No label contains an inbox, a project or an address, because their number
//! is unlimited.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
pub use metrics_exporter_prometheus::BuildError as InstallError;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use Kind::{Counter, Gauge, Histogram};

use crate::os::{self, as_f64};

/// The definition of one metric.
struct Metric {
    kind: Kind,
    name: &'static str,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram(&'static [f64]),
}

/// Defines the constants with the names, and the list of all metrics.
macro_rules! metrics {
    ($($constant:ident: $kind:expr, $name:literal, $description:literal;)*) => {
        $(const $constant: &str = $name;)*
        const METRICS: &[Metric] = &[$(Metric { kind: $kind, name: $name, description: $description }),*];
    };
}

metrics! {
    CONNECTIONS_OPEN: Gauge, "restante_smtp_connections_open", "SMTP connections that are open";
    CONNECTIONS: Counter, "restante_smtp_connections_total",
        "SMTP connections, by outcome: accepted or refused";
    MESSAGES: Counter, "restante_smtp_messages_total",
        "Messages that were received completely, by outcome: stored or refused";
    MESSAGE_BYTES: Counter, "restante_smtp_message_bytes_total", "Bytes of the messages that were stored";
    FAILED_SESSIONS: Counter, "restante_smtp_failed_sessions_total",
        "SMTP sessions that ended before MAIL, by kind: unknown_authority, certificate_rejected, no_common_tls, \
         handshake_failed, left_in_handshake and left_after_handshake (the client possibly rejected the \
         certificate), tls_without_starttls, \
         auth_not_offered, starttls_not_offered, neither_offered, rejected, no_mail or no_command";
    REFUSALS: Counter, "restante_smtp_refusals_total",
        "Senders, recipients and messages that were rejected, by reason";
    DELIVERY_SECONDS: Histogram(SECONDS), "restante_delivery_seconds",
        "Seconds from the end of a message until it is stored";
    COMMIT_SECONDS: Histogram(SECONDS), "restante_commit_seconds",
        "Seconds of one transaction of deliveries, with its flush";
    COMMIT_DELIVERIES: Histogram(BATCHES), "restante_commit_deliveries",
        "Deliveries in one transaction";
    WAITS_OPEN: Gauge, "restante_waits_open", "Waits that are open";
    WAITS: Counter, "restante_waits_total",
        "Waits that have ended, by outcome: found, timeout, left (the client disconnected), inbox_ended, stopping, \
         refused (the key had too many; each try counts) or failed";
    WAIT_COMPARISONS: Counter, "restante_wait_comparisons_total",
        "Messages that waits have compared with their filters";
    OUTGOING_QUEUED: Gauge, "restante_outgoing_queued",
        "Outgoing items that wait to be sent; counted up to 100000";
    OUTGOING_ATTEMPTS: Counter, "restante_outgoing_attempts_total",
        "Attempts to send to other domains, by outcome: sent, deferred or failed";
    HTTP_REQUESTS: Counter, "restante_http_requests_total",
        "HTTP requests, by status: 2xx, 3xx, 4xx or 5xx";
    LOG_LINES_DROPPED: Counter, "restante_log_lines_dropped_total",
        "Log lines that were dropped because standard error was too slow";
    JOURNAL_DROPPED: Counter, "restante_journal_dropped_total",
        "Entries of the journal (waits, sessions, rejections, causes) that were not recorded: too many were queued, \
         or the database failed";
    DISK_FREE: Gauge, "restante_disk_free_bytes", "Free bytes of the disk with the data directory";
    DISK_RESERVED: Gauge, "restante_disk_reserved_bytes",
        "Free bytes below which no message is accepted (`--min-free-disk`)";
    DATABASE_BYTES: Gauge, "restante_database_bytes", "Size of the SQLite database and its log; not with PostgreSQL";
    CPU_SECONDS: Counter, "process_cpu_seconds_total", "User and system time of the process in seconds; Linux only";
    RESIDENT_BYTES: Gauge, "process_resident_memory_bytes", "Memory of the process in bytes; Linux only";
    OPEN_FILES: Gauge, "process_open_fds", "Open files and sockets of the process; Linux only";
    MAX_FILES: Gauge, "process_max_fds", "Limit on the open files of the process; Linux only";
    STARTED_AT: Gauge, "process_start_time_seconds",
        "When the process started, in seconds since 1970; Linux only";
}

/// The upper bounds of the histograms, in seconds: from a flush on a fast disk to a client's long
/// wait.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
];
const BATCHES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

#[derive(Clone, Debug)]
pub struct Metrics {
    handle: PrometheusHandle,
    disk: Disk,
}

/// The disk whose space is measured.
#[derive(Clone, Debug)]
pub struct Disk {
    pub directory: PathBuf,
    /// Free bytes below which no message is accepted.
    pub reserved: u64,
    /// The file of a SQLite database.
    pub database: Option<PathBuf>,
}

/// Starts counting, for the whole process.
///
/// # Errors
/// If another recorder is installed in this process.
pub fn install(disk: Disk) -> Result<Metrics, InstallError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let Histogram(bounds) = metric.kind {
            builder =
                builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), bounds)?;
        }
    }
    let handle = builder.install_recorder()?;
    describe();
    gauge!(CONNECTIONS_OPEN).set(0.0);
    gauge!(WAITS_OPEN).set(0.0);
    counter!(LOG_LINES_DROPPED).absolute(0);
    Ok(Metrics { handle, disk })
}

impl Metrics {
    /// All metrics in Prometheus's text format; `queued` is the current number of queued outgoing
    /// items. Measures the disk and the process, so it blocks.
    #[must_use]
    pub fn render(&self, queued: u32) -> String {
        gauge!(OUTGOING_QUEUED).set(queued);
        self.handle.run_upkeep();
        let mut text = self.handle.render();
        let mut measured = self.disk.measure();
        measured.extend(process());
        for (name, value) in measured {
            write_measured(&mut text, name, value);
        }
        text
    }
}

impl Disk {
    fn measure(&self) -> Vec<(&'static str, f64)> {
        let mut measured = vec![(DISK_RESERVED, as_f64(self.reserved))];
        match os::free_bytes(&self.directory) {
            Ok(free) => measured.push((DISK_FREE, as_f64(free))),
            Err(error) => {
                tracing::warn!(%error, path = %self.directory.display(), "cannot measure the disk");
            }
        }
        if let Some(database) = &self.database {
            let mut log = database.clone().into_os_string();
            log.push("-wal");
            let size = |path: PathBuf| path.metadata().map_or(0, |file| file.len());
            measured.push((
                DATABASE_BYTES,
                as_f64(size(database.clone()) + size(log.into())),
            ));
        }
        measured
    }
}

fn process() -> Vec<(&'static str, f64)> {
    match os::process_use() {
        Ok(None) => Vec::new(),
        Ok(Some(used)) => vec![
            (CPU_SECONDS, used.cpu_seconds),
            (RESIDENT_BYTES, used.resident_bytes),
            (OPEN_FILES, used.open_files),
            (MAX_FILES, used.max_files),
            (STARTED_AT, used.started_at),
        ],
        Err(error) => {
            tracing::warn!(%error, "cannot measure the process");
            Vec::new()
        }
    }
}

/// Appends a metric that is measured when it is read. The recorder's counters are whole numbers.
fn write_measured(text: &mut String, name: &str, value: f64) {
    for Metric {
        kind,
        name,
        description,
    } in METRICS.iter().filter(|metric| metric.name == name)
    {
        // Writing into memory cannot fail.
        let _ = writeln!(
            text,
            "# HELP {name} {description}\n# TYPE {name} {}\n{name} {value}\n",
            kind.word()
        );
    }
}

impl Kind {
    /// The type's name in Prometheus.
    fn word(self) -> &'static str {
        match self {
            Counter => "counter",
            Gauge => "gauge",
            Histogram(_) => "histogram",
        }
    }
}

fn describe() {
    for Metric {
        kind,
        name,
        description,
    } in METRICS
    {
        match kind {
            Counter => describe_counter!(*name, *description),
            Gauge => describe_gauge!(*name, *description),
            Histogram(_) => describe_histogram!(*name, *description),
        }
    }
}

/// The table of all metrics, for the documents.
#[cfg(test)]
pub(crate) fn table() -> String {
    let mut table = "| metric | type | meaning |\n|---|---|---|\n".to_owned();
    for Metric {
        kind,
        name,
        description,
    } in METRICS
    {
        table.push_str(&format!("| `{name}` | {} | {description} |\n", kind.word()));
    }
    table
}

/// The names of all metrics, and of the series of the histograms.
#[cfg(test)]
pub(crate) fn names() -> Vec<String> {
    let series = METRICS.iter().flat_map(|Metric { kind, name, .. }| {
        let endings: &[&str] = if matches!(kind, Histogram(_)) {
            &["_bucket", "_sum", "_count"]
        } else {
            &[""]
        };
        endings.iter().map(move |ending| format!("{name}{ending}"))
    });
    series.collect()
}

/// An SMTP connection that is counted as open until it is dropped.
#[derive(Debug)]
pub struct OpenConnection(());

impl OpenConnection {
    /// A connection was accepted.
    #[must_use]
    pub fn begin() -> Self {
        counter!(CONNECTIONS, "outcome" => "accepted").increment(1);
        gauge!(CONNECTIONS_OPEN).increment(1);
        Self(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        gauge!(CONNECTIONS_OPEN).decrement(1);
    }
}

/// A connection was rejected because there are too many.
pub fn connection_refused() {
    counter!(CONNECTIONS, "outcome" => "refused").increment(1);
}

/// A message of `bytes` was stored, `elapsed` after its last byte arrived.
pub fn message_stored(bytes: u64, elapsed: Duration) {
    counter!(MESSAGES, "outcome" => "stored").increment(1);
    counter!(MESSAGE_BYTES).increment(bytes);
    histogram!(DELIVERY_SECONDS).record(elapsed);
}

/// A message was received in full and then rejected.
pub fn message_refused(reason: &'static str) {
    counter!(MESSAGES, "outcome" => "refused").increment(1);
    refused(reason);
}

/// A session ended before MAIL.
pub fn session_failed(kind: &'static str) {
    counter!(FAILED_SESSIONS, "kind" => kind).increment(1);
}

/// A sender, a recipient or a message was rejected.
pub fn refused(reason: &'static str) {
    counter!(REFUSALS, "reason" => reason).increment(1);
}

/// A transaction of `deliveries` was committed.
pub fn committed(deliveries: u32, elapsed: Duration) {
    histogram!(COMMIT_SECONDS).record(elapsed);
    histogram!(COMMIT_DELIVERIES).record(deliveries);
}

/// A wait, counted when it is dropped. If it is dropped without an outcome, the client
/// disconnected.
#[derive(Debug)]
pub struct WaitCount(&'static str);

impl WaitCount {
    /// A wait has started.
    #[must_use]
    pub fn begin() -> Self {
        Self("left")
    }

    /// Sets the outcome of the wait.
    pub fn ends(&mut self, outcome: &'static str) {
        self.0 = outcome;
    }
}

impl Drop for WaitCount {
    fn drop(&mut self) {
        counter!(WAITS, "outcome" => self.0).increment(1);
    }
}

/// A wait has compared this number of messages with its filters.
pub fn wait_compared(messages: usize) {
    counter!(WAIT_COMPARISONS).increment(messages as u64);
}

/// A wait that has a slot, counted as open until it is dropped.
#[derive(Debug)]
pub struct WaitGauge(());

impl WaitGauge {
    /// A wait has taken its slot.
    #[must_use]
    pub fn begin() -> Self {
        gauge!(WAITS_OPEN).increment(1);
        Self(())
    }
}

impl Drop for WaitGauge {
    fn drop(&mut self) {
        gauge!(WAITS_OPEN).decrement(1);
    }
}

/// An attempt to send an item to another domain has ended.
pub fn outgoing_attempted(outcome: &'static str) {
    counter!(OUTGOING_ATTEMPTS, "outcome" => outcome).increment(1);
}

/// Sets the number of log lines that were dropped since the start.
pub fn log_lines_dropped(lines: usize) {
    counter!(LOG_LINES_DROPPED).absolute(lines as u64);
}

/// Something was not recorded in the journal.
pub fn not_recorded(entries: usize) {
    counter!(JOURNAL_DROPPED).increment(entries as u64);
}

/// The response to an HTTP request had this `status`.
pub fn http_answered(status: u16) {
    let class = match status {
        ..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    };
    counter!(HTTP_REQUESTS, "status" => class).increment(1);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use regex_lite::Regex;

    use super::*;

    #[test]
    fn the_dashboard_and_the_alerts_name_metrics_that_exist() {
        let metric = Regex::new(r"\b(restante|process)_[a-z_]+\b").unwrap();
        for file in [
            "grafana/restante.json",
            "prometheus/rules.yaml",
            "prometheus/rules.test.yaml",
        ] {
            let text = fs::read_to_string(format!("{}/deploy/{file}", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
            let named: Vec<&str> = metric
                .find_iter(&text)
                .map(|found| found.as_str())
                .collect();
            assert!(named.len() > 10, "{file}");
            let names = names();
            // A text names a histogram without the ending of a series.
            let is_known = |name: &str| {
                names.iter().any(|known| known == name)
                    || METRICS.iter().any(|metric| metric.name == name)
            };
            let unknown: Vec<_> = named.into_iter().filter(|name| !is_known(name)).collect();
            assert!(
                unknown.is_empty(),
                "{file} names metrics that do not exist: {unknown:?}"
            );
        }
    }

    #[test]
    fn the_dashboard_shows_every_metric() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/grafana/restante.json");
        let dashboard = fs::read_to_string(path).unwrap();
        let hidden = METRICS
            .iter()
            .filter(|metric| !dashboard.contains(metric.name))
            .map(|metric| metric.name);
        let hidden: Vec<_> = hidden.collect();
        let internal = [
            "restante_commit_deliveries",
            "restante_wait_comparisons_total",
            "restante_log_lines_dropped_total",
            "restante_journal_dropped_total",
            "process_start_time_seconds",
        ];
        assert_eq!(
            hidden, internal,
            "add a panel to deploy/grafana/restante.json"
        );
    }
}
