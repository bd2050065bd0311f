//! A receiver for the service of a test, and a client that sends the lines of a test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use restante::config::{DatabaseUrl, Limits, Outbound, Sending, Settings, SmtpAuth};
use restante::model::Domain;
use restante::receiver::Receiver;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use testkit::{Harness, MAIL_DOMAIN, within};

/// The receiver; it stops when this is dropped.
pub struct Smtp {
    address: SocketAddr,
    stop: CancellationToken,
}

impl Smtp {
    pub async fn start(api: &Harness) -> Self {
        let settings = settings(api.directory.path().to_owned());
        let receiver = Receiver::bind(&settings, api.service.clone()).await.unwrap();
        let (address, stop) = (receiver.local_addr(), CancellationToken::new());
        tokio::spawn(receiver.run(stop.clone(), Duration::from_secs(1)));
        Self { address, stop }
    }

    /// A client that has sent EHLO.
    pub async fn client(&self) -> Client {
        let mut client = Client(BufReader::new(TcpStream::connect(self.address).await.unwrap()));
        client.reply().await;
        client.say("EHLO app.example").await;
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
        self.0.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        self.reply().await
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
            let read = within(self.0.read_line(&mut reply)).await.unwrap();
            if read == 0 || reply.as_bytes().get(start + 3) != Some(&b'-') {
                return reply;
            }
        }
    }
}

fn settings(data_dir: PathBuf) -> Settings {
    Settings {
        http_listen: "127.0.0.1:0".parse().unwrap(),
        smtp_listen: "127.0.0.1:0".parse().unwrap(),
        smtps_listen: None,
        smtp_auth: SmtpAuth::Any,
        smtp_plaintext_auth: false,
        metrics_listen: None,
        mail_domain: Domain::parse(MAIL_DOMAIN).unwrap(),
        base_url: None,
        mcp: true,
        trusted_proxies: Vec::new(),
        database: DatabaseUrl::Sqlite(data_dir.join("unused.db")),
        data_dir,
        api_key: None,
        admin_token: None,
        tls: None,
        inbox_lifetime: Duration::from_secs(3_600),
        sending: Sending { outbound: Outbound::Off, hello: Domain::parse(MAIL_DOMAIN).unwrap(), dkim: None },
        limits: Limits { message_size: 100_000, free_disk: 0, recipients: 2, ..Limits::default() },
    }
}
