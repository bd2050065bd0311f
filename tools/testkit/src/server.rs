//! A running `restante serve`, and the other commands of the program.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;

/// A server on free ports of the loopback; killed when it is dropped.
pub struct Server {
    child: Child,
    // Kept open, because a server does not expect a closed pipe.
    _output: BufReader<ChildStdout>,
    /// The greeting.
    pub greeting: String,
    /// `ADDRESS:PORT` of SMTP.
    pub smtp: String,
    /// The address of HTTP, as a URL.
    pub url: String,
}

impl Server {
    /// Starts a server on `data_dir` and waits until it listens.
    pub fn start(data_dir: &Path, flags: &[&str]) -> Self {
        Self::spawn(serve(data_dir).args(flags))
    }

    /// Runs the command of [`serve`] and waits until it listens.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let greeting = read_greeting(&mut output);
        let smtp = address(&greeting, "SMTP");
        let url = format!("http://{}", address(&greeting, "HTTP"));
        Self {
            child,
            _output: output,
            greeting,
            smtp,
            url,
        }
    }

    /// The address after this label of the greeting.
    pub fn address(&self, label: &str) -> String {
        address(&self.greeting, label)
    }

    /// The key that this start created.
    pub fn made_key(&self) -> Option<&str> {
        self.greeting
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("rst_live_"))
    }

    /// The request in the greeting.
    pub fn curl_line(&self) -> &str {
        self.greeting.lines().last().unwrap().trim()
    }

    /// A client command for this server.
    pub fn client<'a>(&self, key: &str, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = command(arguments);
        command
            .env("RESTANTE_URL", &self.url)
            .env("RESTANTE_API_KEY", key);
        command
    }

    /// The output of a client command, without its last line end; the command must succeed.
    pub fn run_cli<'a>(&self, key: &str, arguments: impl IntoIterator<Item = &'a str>) -> String {
        printed(&mut self.client(key, arguments))
    }

    /// The writing end of its standard input, if the command of [`Server::spawn`] had a pipe.
    pub fn take_input(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("a pipe")
    }

    /// Closes the reading end of the log, if the command of [`Server::spawn`] had a pipe.
    pub fn close_log(&mut self) {
        drop(self.child.stderr.take().expect("a pipe"));
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// The memory that the process has in use, in KiB.
    pub fn resident_kib(&self) -> usize {
        self.status_kib("VmRSS:")
    }

    /// The maximum memory that the process has used, in KiB.
    pub fn peak_kib(&self) -> usize {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, field: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// How many sockets the process has open.
    pub fn open_sockets(&self) -> usize {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let targets =
            descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count()
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Removes the limit on the size of files.
    pub fn lift_file_limit(&self) {
        let process = self.child.id().to_string();
        let lift = Command::new("prlimit")
            .args(["--pid", &process, "--fsize=unlimited"])
            .status();
        assert!(lift.unwrap().success());
    }

    /// Waits for the end of the process.
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(greeting: &str, label: &str) -> String {
    let line = greeting
        .lines()
        .find_map(|line| line.trim().strip_prefix(label));
    line.and_then(|line| line.split_whitespace().next())
        .expect(greeting)
        .to_owned()
}

/// A first start in a new directory, and the key that it created.
pub fn first_start() -> (TempDir, Server, String) {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &[]);
    let key = server
        .made_key()
        .expect("the first start generates a key")
        .to_owned();
    (data_dir, server, key)
}

/// `restante serve` on free ports.
pub fn serve(data_dir: &Path) -> Command {
    let mut serve = command([
        "serve",
        "--http-listen",
        "127.0.0.1:0",
        "--smtp-listen",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    serve.arg(data_dir);
    serve
}

/// The program with these arguments, and without variables that the machine may have set.
pub fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program());
    command
        .args(arguments)
        .env_clear()
        .env("RESTANTE_LOG", "warn")
        .stdin(Stdio::null());
    command
}

/// The path of the program for the running test.
fn program() -> std::ffi::OsString {
    std::env::var_os("CARGO_BIN_EXE_restante").expect("cargo test and cargo nextest set it")
}

/// The standard output of a command, without its last line end; the command must succeed.
pub fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The exit code and the standard error of a command that must fail.
pub fn failed(command: &mut Command) -> (i32, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert!(stdout.is_empty(), "{command:?} prints {stdout:?}");
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

/// Reads up to the curl line at the end of the greeting.
fn read_greeting(output: &mut impl BufRead) -> String {
    let mut greeting = String::new();
    loop {
        let before = greeting.len();
        assert_ne!(
            output.read_line(&mut greeting).unwrap(),
            0,
            "the server ended: {greeting}"
        );
        if greeting[before..].trim_start().starts_with("curl ") {
            return greeting;
        }
    }
}
