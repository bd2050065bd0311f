//! The server under load: a process on its own processors, and its resource usage.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use tempfile::TempDir;

use crate::frames::Frames;
use crate::options::Place;
use crate::sending::{Outcome, Sending};

/// The key of the default project.
pub(crate) const KEY: &str = "rst_live_0123456789abcdefghijABCDEFGHIJ01";
/// The number of open waits that a key may have.
pub(crate) const WAITS_A_KEY: usize = 4;
/// Clock ticks per second of processor time; Linux guarantees this value.
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
    pub(crate) fn start(place: &Place, program: &Path, flags: &[&str]) -> Self {
        Self::start_on(place, program, new_data_dir(place), flags)
    }

    pub(crate) fn start_on(place: &Place, program: &Path, data: TempDir, flags: &[&str]) -> Self {
        assert!(
            program.exists(),
            "{} is missing: run cargo build --release first",
            program.display()
        );
        let mut arguments = vec![
            "serve",
            "--http-listen",
            "127.0.0.1:0",
            "--smtp-listen",
            "127.0.0.1:0",
            "--api-key",
            KEY,
        ];
        arguments.extend_from_slice(&["--max-smtp-connections-per-address", "5000", "--data-dir"]);
        let mut command = pinned(place, program);
        command
            .args(arguments)
            .arg(data.path())
            .args(flags)
            .env("RESTANTE_LOG", "error");
        Self::spawn(command, data)
    }

    /// Starts a program with the same greeting as Restante.
    pub(crate) fn spawn(mut command: Command, data: TempDir) -> Self {
        let started = Instant::now();
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server cannot be started");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut smtp = String::new();
        let mut http = String::new();
        let mut line = String::new();
        while smtp.is_empty() || http.is_empty() {
            line.clear();
            assert!(
                output.read_line(&mut line).unwrap() > 0,
                "the server did not start"
            );
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("SMTP"), Some(address)) => address.clone_into(&mut smtp),
                (Some("HTTP"), Some(address)) => address.clone_into(&mut http),
                _ => {}
            }
        }
        Self {
            child,
            _output: output,
            smtp,
            http,
            started_in: started.elapsed(),
            data,
        }
    }

    /// Runs `sending`, and adds the resources that this server used.
    pub(crate) async fn measure(&self, sending: impl Future<Output = Sending>) -> Outcome {
        self.measure_with(sending, |_| ()).await.0
    }

    /// Like `measure`, and adds the result of `look` for the sent messages.
    pub(crate) async fn measure_with<T>(
        &self,
        sending: impl Future<Output = Sending>,
        look: impl FnOnce(&Sending) -> T,
    ) -> (Outcome, T) {
        let process = self.process();
        let time = process.processor_time();
        let switches = process.switches();
        let frames = Frames::start(self.data.path());
        let sending = sending.await;
        let mut outcome = sending.outcome();
        outcome.frames = frames.map(Frames::finish);
        outcome.processor = process.processor_time() - time;
        outcome.switches = process.switches().saturating_sub(switches);
        outcome.peak = process.peak();
        outcome.files = self.files();
        (outcome, look(&sending))
    }

    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// The size of all its files, in bytes.
    pub(crate) fn files(&self) -> u64 {
        let files = std::fs::read_dir(self.data.path()).unwrap();
        files
            .filter_map(|file| file.ok()?.metadata().ok())
            .map(|metadata| metadata.len())
            .sum()
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
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / TICKS_A_SECOND
    }

    /// Context switches of its threads so far.
    fn switches(self) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.0)).unwrap();
        // A thread may end in the meantime.
        let status = threads
            .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("status")).ok());
        let counts = |status: String| {
            let lines = status
                .lines()
                .filter(|line| line.contains("voluntary_ctxt_switches:"));
            lines
                .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
                .sum::<u64>()
        };
        status.map(counts).sum()
    }

    /// The current memory, in bytes.
    pub(crate) fn resident(self) -> u64 {
        self.status("VmRSS:")
    }

    /// The maximum of its memory, in bytes.
    pub(crate) fn peak(self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(self, label: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(label))
            .unwrap();
        line.split_whitespace()
            .next()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            * 1_024
    }
}

pub(crate) fn new_data_dir(place: &Place) -> TempDir {
    TempDir::new_in(&place.directory).unwrap()
}

/// A command on the server's processor.
pub(crate) fn pinned(place: &Place, program: &Path) -> Command {
    if !place.pin {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program);
    command
}

/// Moves this process to the processors of the load; new threads inherit them.
pub(crate) fn pin_load(place: &Place) {
    if !place.pin {
        return;
    }
    let count = std::thread::available_parallelism().unwrap().get();
    assert!(count > 1, "--pin needs two processors");
    let mut processors = CpuSet::new();
    (1..count).for_each(|number| processors.set(number));
    sched_setaffinity(None, &processors).unwrap();
}

/// A runtime for the load.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}
