//! PostgreSQL for tests: each test gets its own database in a temporary cluster. The test command
//! sets its URL.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use restante::config::DatabaseUrl;
use tokio_postgres::NoTls;

/// The variable with the cluster's URL; `./test` starts the cluster and sets it.
const VARIABLE: &str = "RESTANTE_TEST_POSTGRES";

/// An empty database. In the cluster of the test run, it is deleted when this value is dropped.
pub struct TestDatabase {
    cluster: String,
    name: String,
    is_deleted: bool,
}

impl TestDatabase {
    /// Creates a database in the cluster of the test run.
    pub fn create() -> Self {
        let cluster = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!(
                "{VARIABLE} is not set: run ./test, or tests/postgres-cluster run cargo nextest run"
            )
        });
        let mut database = Self::create_in(cluster);
        database.is_deleted = true;
        database
    }

    /// Creates a database in a cluster that ends with the test.
    pub fn create_in(cluster: String) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "test_{}_{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        run(
            &cluster,
            &format!("CREATE DATABASE {name} STRATEGY file_copy"),
        );
        Self {
            cluster,
            name,
            is_deleted: false,
        }
    }

    /// The copy of this database at a standby.
    pub fn copy_at(&self, standby: &Cluster) -> Self {
        Self {
            cluster: standby.url.clone(),
            name: self.name.clone(),
            is_deleted: false,
        }
    }

    /// Its URL for a node.
    pub fn url(&self) -> DatabaseUrl {
        self.text().parse().unwrap()
    }

    /// The same as text.
    pub fn text(&self) -> String {
        self.cluster
            .replacen("/postgres?", &format!("/{}?", self.name), 1)
    }

    /// The same as text, with a standby of its cluster as the second host.
    pub fn text_with(&self, standby: &Cluster) -> String {
        self.text()
            .replacen("&user=", &format!(",{}&user=", standby.path().display()), 1)
    }

    /// Runs a statement as the administrator and returns the first column of its rows.
    pub fn run(&self, sql: &str) -> Vec<String> {
        run(&self.text(), sql)
    }

    /// Like `run`, without blocking the other tasks of this runtime: one of them may have the lock
    /// that the statement needs.
    pub async fn run_beside(&self, sql: &str) {
        let url = self.text();
        let sql = sql.to_owned();
        tokio::task::spawn_blocking(move || run(&url, &sql))
            .await
            .unwrap();
    }

    /// Waits until its copy at a standby has everything that was committed so far.
    pub fn until_copied(&self, copy: &Self) {
        let written = &self.run("SELECT pg_current_wal_lsn()::text")[0];
        let has_it = format!("SELECT (pg_last_wal_replay_lsn() >= '{written}')::text");
        crate::eventually("the standby has it", || copy.run(&has_it) == ["true"]);
    }

    /// How many named locks its sessions have, or (not `granted`) for how many they wait.
    pub fn named_locks(&self, granted: bool) -> usize {
        let sql =
            "SELECT count(*)::text FROM pg_locks JOIN pg_database ON pg_database.oid = database
                   WHERE locktype = 'advisory' AND datname = current_database() AND granted = ";
        self.run(&format!("{sql}{granted}"))[0].parse().unwrap()
    }

    /// Ends every connection to it.
    pub fn end_connections(&self) {
        let sql = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.run(sql);
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if self.is_deleted && !std::thread::panicking() {
            run(
                &self.cluster,
                &format!("DROP DATABASE {} WITH (FORCE)", self.name),
            );
        }
    }
}

/// A separate cluster that a test can stop and start.
pub struct Cluster {
    directory: tempfile::TempDir,
    /// The URL of its administrative database.
    pub url: String,
}

impl Cluster {
    /// Starts a cluster with additional lines of postgresql.conf.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), settings)
    }

    /// Starts a cluster in a directory with files to which the settings refer.
    pub fn start_in(directory: tempfile::TempDir, settings: &[&str]) -> Self {
        open_to_all(directory.path());
        let output = command("start", directory.path())
            .args(settings)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Self {
            directory,
            url: String::from_utf8(output.stdout).unwrap().trim().to_owned(),
        }
    }

    /// Starts a standby that follows this cluster.
    pub fn standby(&self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        open_to_all(directory.path());
        let url = follow(directory.path(), self);
        Self { directory, url }
    }

    /// Discards the data of this cluster, which must not run, and starts it as a standby that
    /// follows `primary`.
    pub fn follow(&self, primary: &Self) {
        std::fs::remove_dir_all(self.path().join("data")).unwrap();
        follow(self.path(), primary);
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Kills it, to simulate a crash.
    pub fn kill(&self) {
        self.act("kill");
    }

    /// Ends its connections, and stops it.
    pub fn stop(&self) {
        self.act("stop");
    }

    /// Starts it again.
    pub fn resume(&self) {
        self.act("resume");
    }

    /// Stops all its processes, as a host that has lost its power does to those who talk to it.
    pub fn freeze(&self) {
        self.act("freeze");
    }

    /// Lets them go on.
    pub fn thaw(&self) {
        self.act("thaw");
    }

    fn act(&self, action: &str) {
        assert!(
            command(action, self.path()).status().unwrap().success(),
            "{action}"
        );
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be frozen, or not be running.
        for action in ["thaw", "kill"] {
            let _ = command(action, self.path())
                .stderr(std::process::Stdio::null())
                .status();
        }
    }
}

/// Starts a standby of `primary` in this directory; returns its URL.
fn follow(directory: &Path, primary: &Cluster) -> String {
    let output = command("standby", directory)
        .arg(primary.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn open_to_all(directory: &Path) {
    std::fs::set_permissions(
        directory,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
}

fn command(action: &str, directory: &Path) -> Command {
    let mut command = Command::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/postgres-cluster"
    ));
    command.arg(action).arg(directory);
    command
}

/// Runs a statement on a new connection, in a new thread and runtime, so that it can be called
/// within a runtime.
fn run(url: &str, sql: &str) -> Vec<String> {
    let run = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let messages = client.simple_query(sql).await.unwrap();
        let rows = messages.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        rows.collect()
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(run)
        });
        running.join().unwrap()
    })
}
