//! A scripted SMTP server: sends given replies, hangs until released, disconnects, and supports
//! TLS.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use testkit::within;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// What the server does after a command.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Sends this text.
    Say(&'static str),
    /// Waits until [`Scripted::release`], then sends this text.
    SayLate(&'static str),
}

/// The script. A command is a verb; `.` is the end of the message, the empty verb the greeting.
#[derive(Clone, Default)]
pub struct Script {
    pub answers: Vec<(&'static str, Answer)>,
    pub tls: Option<Arc<ServerConfig>>,
    pub implicit_tls: bool,
}

impl Script {
    pub fn with(mut self, verb: &'static str, answer: Answer) -> Self {
        self.answers.push((verb, answer));
        self
    }

    fn answer(&self, verb: &str) -> Answer {
        let scripted = self.answers.iter().find(|(scripted, _)| *scripted == verb);
        scripted.map_or_else(|| usual(verb), |(_, answer)| answer.clone())
    }
}

fn usual(verb: &str) -> Answer {
    Answer::Say(match verb {
        "" | "STARTTLS" => "220 mx.example ready\r\n",
        "DATA" => "354 go on\r\n",
        "QUIT" => "221 bye\r\n",
        _ => "250 ok\r\n",
    })
}

/// A running server; it stops when this is dropped.
pub struct Scripted {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    script: Script,
    connections: AtomicUsize,
    released: Semaphore,
    seen: watch::Sender<Seen>,
    messages: Mutex<Vec<String>>,
}

/// The commands that the server received, and how often it has hung.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub commands: Vec<String>,
    pub hung: usize,
}

impl Scripted {
    pub async fn start(address: SocketAddr, script: Script) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script,
            connections: AtomicUsize::new(0),
            released: Semaphore::new(0),
            seen: watch::Sender::new(Seen::default()),
            messages: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                serving.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(Arc::clone(&serving).serve(Box::new(stream)));
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The accepted messages, including the dots.
    pub fn messages(&self) -> Vec<String> {
        self.shared.messages.lock().unwrap().clone()
    }

    /// The command lines so far.
    pub fn commands(&self) -> Vec<String> {
        self.shared.seen.borrow().commands.clone()
    }

    /// Returns when the server has hung `times` in all.
    pub async fn hung(&self, times: usize) {
        within(
            self.shared
                .seen
                .subscribe()
                .wait_for(|seen| seen.hung == times),
        )
        .await
        .unwrap();
    }

    /// Lets `number` connections continue that hang now or later.
    pub fn release(&self, number: usize) {
        self.shared.released.add_permits(number);
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, stream: Box<dyn Stream>) {
        // The client has disconnected.
        let _ = self.converse(stream).await;
    }

    async fn converse(&self, mut stream: Box<dyn Stream>) -> std::io::Result<()> {
        if self.script.implicit_tls {
            stream = Box::new(self.acceptor()?.accept(stream).await?);
        }
        let mut stream = BufReader::new(stream);
        let mut verb = String::new();
        while self.act(&mut stream, &verb).await? {
            if verb == "STARTTLS" && self.agrees("STARTTLS") {
                stream = BufReader::new(Box::new(
                    self.acceptor()?.accept(stream.into_inner()).await?,
                ));
            }
            let message_follows = verb == "DATA" && self.agrees("DATA");
            verb = if message_follows {
                self.message(&mut stream).await?
            } else {
                self.command(&mut stream).await?
            };
        }
        Ok(())
    }

    fn agrees(&self, verb: &str) -> bool {
        matches!(self.script.answer(verb), Answer::Say(reply) if reply.starts_with(['2', '3']))
    }

    /// Without a certificate the handshake fails.
    fn acceptor(&self) -> std::io::Result<TlsAcceptor> {
        let config = self
            .script
            .tls
            .clone()
            .ok_or(std::io::ErrorKind::Unsupported)?;
        Ok(TlsAcceptor::from(config))
    }

    async fn act(
        &self,
        stream: &mut BufReader<Box<dyn Stream>>,
        verb: &str,
    ) -> std::io::Result<bool> {
        let reply = match self.script.answer(verb) {
            Answer::Say(reply) => reply,
            Answer::SayLate(reply) => {
                self.seen.send_modify(|seen| seen.hung += 1);
                self.released.acquire().await.unwrap().forget();
                reply
            }
        };
        stream.write_all(reply.as_bytes()).await?;
        stream.flush().await?;
        Ok(verb != "QUIT")
    }

    async fn command(&self, stream: &mut BufReader<Box<dyn Stream>>) -> std::io::Result<String> {
        let line = line(stream).await?;
        self.seen
            .send_modify(|seen| seen.commands.push(line.clone()));
        Ok(line.split(' ').next().unwrap_or_default().to_owned())
    }

    async fn message(&self, stream: &mut BufReader<Box<dyn Stream>>) -> std::io::Result<String> {
        let mut message = String::new();
        loop {
            match line(stream).await?.as_str() {
                "." => break,
                line => message.push_str(&format!("{line}\r\n")),
            }
        }
        self.messages.lock().unwrap().push(message);
        Ok(".".to_owned())
    }
}

async fn line(stream: &mut BufReader<Box<dyn Stream>>) -> std::io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    assert!(line.ends_with("\r\n"), "{line:?} is no SMTP line");
    Ok(line.trim_end_matches("\r\n").to_owned())
}

/// A self-signed certificate for `name`: the server's settings, and the certificate in PEM.
pub fn self_signed(name: &str) -> (Arc<ServerConfig>, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = builder
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    (Arc::new(config), cert.pem())
}
