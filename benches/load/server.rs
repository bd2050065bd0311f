//! The server under load: a process on processors of its own, and what the system says of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use tempfile::TempDir;

use crate::options::Place;

/// The key of the default project.
pub(crate) const KEY: &str = "rst_live_0123456789abcdefghijABCDEFGHIJ01";
/// Clock ticks in a second of processor time, which Linux has fixed for its user interface.
const TICKS_A_SECOND: f64 = 100.0;

pub(crate) struct Server {
    child: Child,
    _output: BufReader<ChildStdout>,
    pub(crate) smtp: String,
    /// `HOST:PORT`.
    pub(crate) http: String,
    /// From the start of the process to its greeting.
    pub(crate) started_in: Duration,
    pub(crate) data: TempDir,
}

impl Server {
    /// Starts Restante with its default settings on a new data directory.
    pub(crate) fn start(place: &Place, flags: &[&str]) -> Self {
        Self::start_on(place, new_data_dir(place), flags)
    }

    pub(crate) fn start_on(place: &Place, data: TempDir, flags: &[&str]) -> Self {
        let mut arguments =
            vec!["serve", "--http-listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0", "--api-key", KEY];
        arguments.extend_from_slice(&["--max-smtp-connections-per-address", "5000", "--data-dir"]);
        let mut command = pinned(place, &place.restante);
        command.args(arguments).arg(data.path()).args(flags).env("RESTANTE_LOG", "error");
        Self::spawn(command, data)
    }

    /// Starts a program that greets as Restante does.
    pub(crate) fn spawn(mut command: Command, data: TempDir) -> Self {
        let begun = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the server cannot be started");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut smtp, mut http) = (String::new(), String::new());
        let mut line = String::new();
        while smtp.is_empty() || http.is_empty() {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the server did not start");
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("SMTP"), Some(address)) => address.clone_into(&mut smtp),
                (Some("HTTP"), Some(address)) => address.clone_into(&mut http),
                _ => {}
            }
        }
        Self { child, _output: output, smtp, http, started_in: begun.elapsed(), data }
    }

    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// Octets of all its files.
    pub(crate) fn files(&self) -> u64 {
        let files = std::fs::read_dir(self.data.path()).unwrap();
        files.filter_map(|file| file.ok()?.metadata().ok()).map(|metadata| metadata.len()).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// Seconds of processor time so far.
    pub(crate) fn processor_time(self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / TICKS_A_SECOND
    }

    /// Octets in memory now.
    pub(crate) fn resident(self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most octets it has had in memory.
    pub(crate) fn peak(self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(self, label: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(label)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1_024
    }
}

pub(crate) fn new_data_dir(place: &Place) -> TempDir {
    TempDir::new_in(&place.directory).unwrap()
}

/// A command on the server's processors, where there are enough of them.
pub(crate) fn pinned(place: &Place, program: &Path) -> Command {
    if !is_roomy() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &place.server_cpus]).arg(program);
    command
}

/// Puts this process on the processors of the load; threads that are started later follow.
pub(crate) fn pin_load(place: &Place) {
    if !is_roomy() {
        return;
    }
    let mut processors = CpuSet::new();
    place.load_cpus.split(',').for_each(|number| processors.set(number.parse().unwrap()));
    sched_setaffinity(None, &processors).unwrap();
}

fn is_roomy() -> bool {
    use std::sync::OnceLock;
    static ROOMY: OnceLock<bool> = OnceLock::new();
    *ROOMY.get_or_init(|| std::thread::available_parallelism().is_ok_and(|processors| processors.get() >= 4))
}

/// A runtime for the load: two threads, as it has two processors.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
