//! PgBouncer between a node and PostgreSQL: a session of its own is enough, and is proved at the
//! start.

use std::path::Path;
use std::process::{Child, Command};

use restante::db::{Database, DatabaseError};
use testkit::eventually;
use testkit::port::ReservedPort;
use testkit::postgres::TestDatabase;

/// A PgBouncer, until it is dropped.
struct Pooler {
    process: Child,
    url: String,
    _directory: tempfile::TempDir,
}

impl Pooler {
    fn start(database: &TestDatabase, mode: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let reserved = ReservedPort::new();
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), readable).unwrap();
        let text = database.text();
        let port = reserved.number();
        let socket = text
            .split(['?', '&'])
            .find_map(|option| option.strip_prefix("host="))
            .unwrap();
        let name = &database.run("SELECT current_database()")[0];
        let settings = directory.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n{name} = host={socket} port=5432 user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = {mode}\nunix_socket_dir =\n"
        );
        std::fs::write(&settings, text).unwrap();
        let process = command(&settings)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        eventually("the pooler listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let url = format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable");
        Self {
            process,
            url,
            _directory: directory,
        }
    }
}

/// PgBouncer refuses to run as root.
fn command(settings: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.arg("/usr/sbin/pgbouncer").arg(settings);
    command
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_in_transaction_mode_is_refused_by_name() {
    let database = TestDatabase::create();
    for (mode, works) in [("session", true), ("transaction", false)] {
        let pooler = Pooler::start(&database, mode);
        let opened = Database::open(&pooler.url.parse().unwrap()).await;
        match opened {
            Ok(opened) => assert!(
                works && opened.locks().try_lock(1).await.unwrap().is_some(),
                "{mode}"
            ),
            Err(DatabaseError::Pooler) => assert!(!works, "{mode}"),
            Err(error) => panic!("{mode}: {error}"),
        }
    }
}
