//! Percentiles, medians, and how figures are printed.

use std::time::Duration;

/// Durations, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In milliseconds; 0 if there is no value.
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let index = (last as f64 * percent / 100.0).round() as usize;
        self.0
            .get(index)
            .map_or(0.0, |duration| duration.as_secs_f64() * 1e3)
    }

    pub(crate) fn line(&self) -> String {
        let [p50, p99, p999, most] =
            [50.0, 99.0, 99.9, 100.0].map(|percent| self.percentile(percent));
        format!("p50 {p50:.2}  p99 {p99:.2}  p99.9 {p999:.2}  max {most:.2} ms")
    }
}

/// The median.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A whole number, with its digits in groups of three.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
