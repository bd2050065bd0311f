//! What this process uses: processor time, memory, open files. Linux only, from /proc.

use std::io;

/// The resources of this process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUse {
    /// User and system time, in seconds.
    pub cpu_seconds: f64,
    /// Memory that is in RAM, in bytes.
    pub resident_bytes: f64,
    /// Files and sockets that are open.
    pub open_files: f64,
    /// The limit on open files.
    pub max_files: f64,
    /// When the process started, in seconds since 1970.
    pub started_at: f64,
}

/// The resources that this process uses now; `None` on other systems than Linux.
///
/// # Errors
/// If /proc cannot be read.
#[cfg(target_os = "linux")]
pub fn process_use() -> io::Result<Option<ProcessUse>> {
    use std::fs;

    use rustix::process::{Resource, getrlimit};

    let fields = stat_fields(&fs::read_to_string("/proc/self/stat")?);
    let field = |number: usize| {
        fields
            .get(number)
            .copied()
            .ok_or(io::ErrorKind::InvalidData)
    };
    let ticks = as_f64(rustix::param::clock_ticks_per_second());
    let kernel = fs::read_to_string("/proc/stat")?;
    let booted_at = kernel
        .lines()
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok());
    Ok(Some(ProcessUse {
        // proc(5): 14 utime, 15 stime, 22 starttime in ticks since the boot, 24 rss in pages.
        cpu_seconds: (field(14)? + field(15)?) / ticks,
        resident_bytes: field(24)? * as_f64(rustix::param::page_size() as u64),
        // The directory that is being read is one of them.
        open_files: as_f64(fs::read_dir("/proc/self/fd")?.count() as u64) - 1.0,
        max_files: getrlimit(Resource::Nofile)
            .current
            .map_or(f64::INFINITY, as_f64),
        started_at: booted_at.ok_or(io::ErrorKind::InvalidData)? + field(22)? / ticks,
    }))
}

#[cfg(not(target_os = "linux"))]
pub fn process_use() -> io::Result<Option<ProcessUse>> {
    Ok(None)
}

/// The numbers of /proc/self/stat by their number in proc(5). What is not a number is 0.
#[cfg(target_os = "linux")]
fn stat_fields(stat: &str) -> Vec<f64> {
    // The second field is the program's name in parentheses, which may itself contain spaces and
    // parentheses.
    let after_name = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let rest = after_name
        .split_whitespace()
        .map(|field| field.parse().unwrap_or_default());
    [0.0; 3].into_iter().chain(rest).collect()
}

/// The number as Prometheus has it; exact below 2^53.
#[allow(clippy::cast_precision_loss, reason = "a metric is a double")]
pub fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_running_process_uses_something() {
        let used = process_use().unwrap().unwrap();
        assert!(
            used.resident_bytes > 1e5
                && used.open_files >= 3.0
                && used.max_files >= used.open_files,
            "{used:?}"
        );
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        assert!((now - used.started_at).abs() < 24.0 * 3600.0, "{used:?}");
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_moves_no_field() {
        let fields = stat_fields("7 (a b) c) S 1 2 3");
        assert_eq!((fields[3], fields[4], fields[6]), (0.0, 1.0, 3.0));
    }
}
