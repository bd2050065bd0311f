//! Postfix's smtp-sink: a real SMTP server that accepts, refuses or disconnects, depending on its
//! options.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

use testkit::within;

/// A running smtp-sink that stores the messages; killed when it is dropped.
pub struct Sink {
    child: Child,
    directory: TempDir,
}

impl Sink {
    /// Starts it with `options` and waits until it listens.
    pub async fn start(address: SocketAddr, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = Command::new(program());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.args(["-u", "nobody"]);
        }
        command
            .args(options)
            .arg("-d")
            .arg(directory.path().join("mail."));
        let child = command
            .arg(address.to_string())
            .arg("100")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut sink = Self { child, directory };
        within(sink.listening(address)).await;
        sink
    }

    /// The messages, each after the envelope that smtp-sink adds.
    pub fn messages(&self) -> Vec<String> {
        let files = fs::read_dir(self.directory.path()).unwrap();
        let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        texts.filter(|text| text.contains("X-Rcpt-Args")).collect()
    }

    async fn listening(&mut self, address: SocketAddr) {
        while TcpStream::connect(address).await.is_err() {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "smtp-sink has ended"
            );
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// On Debian, only root has its directory in the path.
fn program() -> &'static str {
    const SBIN: &str = "/usr/sbin/smtp-sink";
    if fs::exists(SBIN).unwrap() {
        SBIN
    } else {
        "smtp-sink"
    }
}
