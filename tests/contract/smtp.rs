//! A receiver for the service of a test, and a client that sends the lines of a test.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use restante::config::{Limits, Settings};
use restante::model::ApiKey;
use restante::receiver::Receiver;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use testkit::{Harness, within};

/// The receiver; it stops when this is dropped.
pub struct Smtp {
    address: SocketAddr,
    stop: CancellationToken,
}

impl Smtp {
    pub async fn start(api: &Harness) -> Self {
        Self::start_with(api, |_| {}).await
    }

    /// Starts with settings that a test changes.
    pub async fn start_with(api: &Harness, change: impl FnOnce(&mut Settings)) -> Self {
        let limits = Limits {
            message_size: 100_000,
            free_disk: 0,
            recipients: 2,
            ..Limits::default()
        };
        let accepted = api.service.accepted().clone();
        let mut settings = Settings {
            limits,
            accepted,
            ..testkit::settings(api.directory.path())
        };
        change(&mut settings);
        let receiver = Receiver::bind(&settings, api.service.clone())
            .await
            .unwrap();
        let address = receiver.local_addr();
        let stop = CancellationToken::new();
        tokio::spawn(receiver.run(stop.clone(), Duration::from_secs(1)));
        Self { address, stop }
    }

    /// A connection that has not sent anything.
    pub async fn connect(&self) -> Client {
        let mut client = Client(BufReader::new(
            TcpStream::connect(self.address).await.unwrap(),
        ));
        client.reply().await;
        client
    }

    /// A client that has sent EHLO.
    pub async fn client(&self) -> Client {
        let mut client = self.connect().await;
        client.say("EHLO app.example").await;
        client
    }

    /// A client that has logged in with an API key.
    pub async fn client_of(&self, key: &ApiKey) -> Client {
        let mut client = self.client().await;
        let login = BASE64_STANDARD.encode(format!("\0app\0{}", key.as_str()));
        let reply = client.say(&format!("AUTH PLAIN {login}")).await;
        assert!(reply.starts_with("235"), "{reply}");
        client
    }

    /// Sends a message and returns the last reply.
    pub async fn send(&self, recipient: &str, message: &str) -> String {
        let mut client = self.client().await;
        client.send(&[recipient], message).await
    }
}

impl Drop for Smtp {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub async fn say(&mut self, line: &str) -> String {
        self.0
            .write_all(format!("{line}\r\n").as_bytes())
            .await
            .unwrap();
        self.reply().await
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    pub async fn send(&mut self, recipients: &[&str], message: &str) -> String {
        self.send_from("app@app.example", recipients, message).await
    }

    pub async fn send_from(&mut self, sender: &str, recipients: &[&str], message: &str) -> String {
        let mut reply = self.say(&format!("MAIL FROM:<{sender}>")).await;
        for recipient in recipients {
            reply = self.say(&format!("RCPT TO:<{recipient}>")).await;
        }
        if !reply.starts_with("250") || !self.say("DATA").await.starts_with("354") {
            return reply;
        }
        self.say(&format!("{message}\r\n.")).await
    }

    async fn reply(&mut self) -> String {
        let mut reply = String::new();
        loop {
            let start = reply.len();
            let read = match within(self.0.read_line(&mut reply)).await {
                Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                read => read.unwrap(),
            };
            if read == 0 || reply.as_bytes().get(start + 3) != Some(&b'-') {
                return reply;
            }
        }
    }
}
