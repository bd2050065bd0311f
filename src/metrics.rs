//! All metrics of the service, for Prometheus.
//!
//! Counting costs almost nothing until [`install`] is called, which `restante serve` does if metrics are enabled. No
//! label contains an inbox, a project or an address, because their number is unlimited.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
pub use metrics_exporter_prometheus::BuildError as InstallError;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

const CONNECTIONS_OPEN: &str = "restante_smtp_connections_open";
const CONNECTIONS: &str = "restante_smtp_connections_total";
const MESSAGES: &str = "restante_smtp_messages_total";
const MESSAGE_BYTES: &str = "restante_smtp_message_bytes_total";
const REFUSALS: &str = "restante_smtp_refusals_total";
const DELIVERY_SECONDS: &str = "restante_delivery_seconds";
const COMMIT_SECONDS: &str = "restante_commit_seconds";
const COMMIT_DELIVERIES: &str = "restante_commit_deliveries";
const WAITS_OPEN: &str = "restante_waits_open";
const WAITS: &str = "restante_waits_total";
const WAIT_COMPARISONS: &str = "restante_wait_comparisons_total";
const OUTGOING_QUEUED: &str = "restante_outgoing_queued";
const OUTGOING_ATTEMPTS: &str = "restante_outgoing_attempts_total";
const HTTP_REQUESTS: &str = "restante_http_requests_total";
const LOG_LINES_DROPPED: &str = "restante_log_lines_dropped_total";

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
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Full(COMMIT_DELIVERIES.to_owned()), BATCHES)?
        .install_recorder()?;
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
    describe_gauge!(CONNECTIONS_OPEN, "SMTP connections that are open");
    describe_counter!(CONNECTIONS, "SMTP connections, by whether they were accepted");
    describe_counter!(MESSAGES, "Messages that were received completely, by result");
    describe_counter!(MESSAGE_BYTES, "Bytes of the messages that were stored");
    describe_counter!(REFUSALS, "Senders, recipients and messages that were rejected, by reason");
    describe_histogram!(DELIVERY_SECONDS, "Time from the end of a message until it is stored");
    describe_histogram!(COMMIT_SECONDS, "One transaction of deliveries, with its flush");
    describe_histogram!(COMMIT_DELIVERIES, "Deliveries in one transaction");
    describe_gauge!(WAITS_OPEN, "Waits that are open");
    describe_counter!(WAITS, "Waits that have ended, by outcome");
    describe_counter!(WAIT_COMPARISONS, "Messages that waits have compared with their filters");
    describe_gauge!(OUTGOING_QUEUED, "Outgoing items that wait to be sent; counted up to 100000");
    describe_counter!(OUTGOING_ATTEMPTS, "Attempts to send to other domains, by outcome");
    describe_counter!(HTTP_REQUESTS, "HTTP requests, by class of status");
    describe_counter!(LOG_LINES_DROPPED, "Log lines that were dropped because standard error was too slow");
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
