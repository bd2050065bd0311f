//! All metrics of the service, for Prometheus.
//!
//! Counting costs almost nothing until [`install`] is called, which `restante serve` does if metrics are enabled. No
//! label contains an inbox, a project or an address, because their number is unlimited.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
pub use metrics_exporter_prometheus::BuildError as InstallError;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use Kind::{Counter, Gauge, Histogram};

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
         refused or failed";
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
}

/// The upper bounds of the histograms, in seconds: from a flush on a fast disk to a client's long wait.
const SECONDS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
const BATCHES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Renders the metrics.
#[derive(Clone, Debug)]
pub struct Metrics(PrometheusHandle);

/// Starts counting, for the whole process.
///
/// # Errors
/// If another recorder is installed in this process.
pub fn install() -> Result<Metrics, InstallError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let Histogram(bounds) = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), bounds)?;
        }
    }
    let handle = builder.install_recorder()?;
    describe();
    gauge!(CONNECTIONS_OPEN).set(0.0);
    gauge!(WAITS_OPEN).set(0.0);
    counter!(LOG_LINES_DROPPED).absolute(0);
    Ok(Metrics(handle))
}

impl Metrics {
    /// All metrics in Prometheus's text format; `queued` is the current number of queued outgoing items.
    #[must_use]
    pub fn render(&self, queued: u32) -> String {
        gauge!(OUTGOING_QUEUED).set(queued);
        self.0.run_upkeep();
        self.0.render()
    }
}

fn describe() {
    for Metric { kind, name, description } in METRICS {
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
    for Metric { kind, name, description } in METRICS {
        let kind = match kind {
            Counter => "counter",
            Gauge => "gauge",
            Histogram(_) => "histogram",
        };
        table.push_str(&format!("| `{name}` | {kind} | {description} |\n"));
    }
    table
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

/// A wait, counted when it is dropped. If it is dropped without an outcome, the client disconnected.
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
