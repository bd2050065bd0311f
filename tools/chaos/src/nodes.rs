//! The servers of a run, and their database.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::RwLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::server::Server;

use crate::deliveries::Deliveries;
use crate::journal::LIFETIME;
use crate::options::Options;
use crate::postgres::Postgres;

/// The key of the default project, which the clients do not use.
const DEFAULT_KEY: &str = "rst_live_0123456789abcdefghijABCDEFGHIJ01";
/// How long a node may take to stop in order: its grace and a little more.
const STOP: Duration = Duration::from_secs(15);

pub(crate) struct Nodes {
    program: PathBuf,
    faketime: Option<PathBuf>,
    // Before PostgreSQL, so that the nodes end first.
    running: Vec<RwLock<Option<Server>>>,
    deliveries: Vec<Deliveries>,
    directories: Vec<TempDir>,
    postgres: Option<Postgres>,
}

impl Nodes {
    /// Starts the database, creates the projects, and starts the nodes. Also returns the keys of
    /// the projects.
    pub(crate) fn start(options: &Options, projects: usize) -> (Self, Vec<String>) {
        let postgres = options
            .uses_postgres()
            .then(|| Postgres::start(options.has_standby()));
        let directories = (0..options.nodes)
            .map(|_| tempfile::tempdir().unwrap())
            .collect();
        let running = (0..options.nodes).map(|_| RwLock::new(None)).collect();
        let deliveries = (0..options.nodes).map(|_| Deliveries::new()).collect();
        let program = options.restante.clone();
        let faketime = options.faketime.clone();
        let nodes = Self {
            program,
            faketime,
            running,
            deliveries,
            directories,
            postgres,
        };
        let keys = (0..projects)
            .map(|number| nodes.create_project(&format!("project {number}")))
            .collect();
        (0..options.nodes).for_each(|node| {
            nodes.set_clock(node, 0);
            nodes.resume(node);
        });
        (nodes, keys)
    }

    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }

    /// The results of the mail of a node.
    pub(crate) fn deliveries(&self, index: usize) -> &Deliveries {
        &self.deliveries[index % self.count()]
    }

    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        self.postgres.as_ref()
    }

    /// Asks the first running node, starting at `index`.
    pub(crate) fn with<T>(&self, index: usize, of: impl Fn(&Server) -> T) -> Option<T> {
        self.running[index % self.count()]
            .read()
            .unwrap()
            .as_ref()
            .map(of)
    }

    pub(crate) fn kill(&self, node: usize) {
        if let Some(server) = self.take(node) {
            server.kill();
        }
    }

    /// Stops a node in order. Returns what was wrong with it.
    pub(crate) fn stop(&self, node: usize) -> Option<String> {
        let server = self.take(node)?;
        server.signal("TERM");
        let stopping = Instant::now();
        let status = server.wait();
        let slow = stopping.elapsed() > STOP;
        (slow || !status.success()).then(|| format!("{status} after {:?}", stopping.elapsed()))
    }

    /// Starts a node again on its directory.
    pub(crate) fn resume(&self, node: usize) {
        self.resume_with(node, &[]);
    }

    /// The same, with more flags.
    pub(crate) fn resume_with(&self, node: usize, flags: &[&str]) {
        let mut serve = self.command(node, "serve");
        serve.args([
            "--http-listen",
            "127.0.0.1:0",
            "--smtp-listen",
            "127.0.0.1:0",
            "--api-key",
            DEFAULT_KEY,
        ]);
        serve.args(["--accept-domains", "example.com", "--smtp-starttls", "off"]);
        serve
            .args(["--inbox-lifetime", &format!("{}s", LIFETIME.as_secs())])
            .args(flags);
        if let Some(library) = &self.faketime {
            serve
                .env("LD_PRELOAD", library)
                .env("FAKETIME_TIMESTAMP_FILE", self.clock(node));
            serve.envs([
                ("FAKETIME_CACHE_DURATION", "1"),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ]);
        }
        let server = Server::spawn(&mut serve);
        self.deliveries[node].restart();
        *self.running[node].write().unwrap() = Some(server);
    }

    /// Sets by how many seconds the wall clock of a node is wrong. The node notices after a second.
    pub(crate) fn set_clock(&self, node: usize, seconds: i32) {
        let new = self.clock(node).with_extension("new");
        std::fs::write(&new, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(new, self.clock(node)).unwrap();
    }

    fn clock(&self, node: usize) -> PathBuf {
        self.directories[node].path().join("clock")
    }

    fn take(&self, node: usize) -> Option<Server> {
        self.running[node].write().unwrap().take()
    }

    fn create_project(&self, name: &str) -> String {
        let output = self
            .command(0, "project")
            .args(["create", name])
            .stderr(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn command(&self, node: usize, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("RESTANTE_LOG", "error")
            .stdin(Stdio::null())
            .arg(name);
        command.arg("--data-dir").arg(self.directories[node].path());
        if let Some(postgres) = &self.postgres {
            command.args(["--database", &postgres.url()]);
        }
        command
    }
}
