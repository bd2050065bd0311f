//! Postfix as a sender with a queue: a separate instance in a temporary directory, which relays
//! everything to one server. It needs root; otherwise the commands use sudo.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A running instance; it stops when this is dropped.
pub struct Postfix {
    directory: TempDir,
}

impl Postfix {
    /// Starts an instance that sends to `relay`, which is `ADDRESS:PORT`.
    pub fn start(relay: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("postfix")
            .tempdir_in("/var/tmp")
            .unwrap();
        let postfix = Self { directory };
        let (host, port) = relay.rsplit_once(':').unwrap();
        for name in ["config", "queue", "data"] {
            fs::create_dir(postfix.path(name)).unwrap();
        }
        let config = format!(
            "compatibility_level = 3.6\n\
             queue_directory = {queue}\n\
             data_directory = {data}\n\
             maillog_file = {log}\n\
             maillog_file_prefixes = /var/tmp\n\
             alternate_config_directories = {config}\n\
             myhostname = app.example\n\
             mydestination =\n\
             inet_interfaces = loopback-only\n\
             inet_protocols = ipv4\n\
             relayhost = [{host}]:{port}\n\
             smtp_tls_security_level = none\n\
             smtputf8_enable = no\n\
             notify_classes =\n",
            queue = postfix.path("queue").display(),
            data = postfix.path("data").display(),
            config = postfix.path("config").display(),
            log = postfix.path("log").display(),
        );
        fs::write(postfix.path("config/main.cf"), config).unwrap();
        fs::write(postfix.path("config/master.cf"), MASTER).unwrap();
        // Its daemons run as another user and need access.
        run(Command::new("chmod")
            .arg("755")
            .arg(postfix.directory.path()));
        run(as_root("chown").arg("postfix").arg(postfix.path("data")));
        run(as_root("postfix")
            .arg("-c")
            .arg(postfix.path("config"))
            .arg("start"));
        postfix
    }

    /// Queues a message.
    pub fn send(&self, from: &str, to: &str, message: &str) {
        let mut sendmail = as_root("sendmail");
        sendmail
            .arg("-C")
            .arg(self.path("config"))
            .args(["-i", "-f", from, to]);
        let mut sendmail = sendmail.stdin(Stdio::piped()).spawn().unwrap();
        sendmail
            .stdin
            .take()
            .unwrap()
            .write_all(message.as_bytes())
            .unwrap();
        assert!(sendmail.wait().unwrap().success(), "{}", self.log());
    }

    /// Makes it try all deferred mail now instead of after some minutes.
    pub fn flush(&self) {
        run(as_root("postqueue")
            .arg("-c")
            .arg(self.path("config"))
            .arg("-f"));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        let _ = as_root("postfix")
            .arg("-c")
            .arg(self.path("config"))
            .arg("stop")
            .output();
        // The files belong to root.
        let _ = as_root("rm").arg("-rf").arg(self.directory.path()).output();
    }
}

/// Only what a sender needs; nothing listens on the network.
const MASTER: &str = "\
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
smtp unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
";

fn as_root(program: &str) -> Command {
    let paths =
        ["/usr/sbin", "/usr/bin", "/bin"].map(|directory| Path::new(directory).join(program));
    let program = paths
        .iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{program} is not installed"));
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.arg("-n").arg(program);
    sudo
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}
