//! The time from the last byte of a message to the response of the wait that was open for it.
//!
//! The whole service runs in this process, with real sockets and a real, flushed database. The same
//! run measures two other times for comparison: a flush of 4 KiB to a file in the same directory,
//! and a wait for a message that is already stored.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use divan::Bencher;
use restante::clock::Clock;
use restante::config::Settings;
use restante::db::Database;
use restante::http;
use restante::model::ApiKey;
use restante::receiver::Receiver;
use restante::service::Service;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use testkit::{app, options, settings};

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 500, sample_size = 1)]
fn flush_of_4_kib(bencher: Bencher) {
    let directory = tempfile::tempdir().unwrap();
    let mut file = File::create(directory.path().join("log")).unwrap();
    bencher.bench_local(|| {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
    });
}

#[divan::bench(sample_count = 500, sample_size = 1)]
fn final_dot_to_answer(bencher: Bencher) {
    let server = Server::start();
    let mut http = Http::connect(server.http, &server.key);
    bencher
        .with_inputs(|| {
            let inbox = http.create_inbox();
            let waiting = Http::connect(server.http, &server.key)
                .ask("GET", &format!("/v1/inboxes/{inbox}/messages/wait"));
            let mut smtp = Smtp::connect(server.smtp);
            smtp.send_up_to_the_dot(&inbox);
            (smtp, waiting)
        })
        .bench_local_values(|(mut smtp, mut waiting)| {
            smtp.stream.write_all(b"\r\n.\r\n").unwrap();
            assert!(waiting.answer().contains("\"otp\":\"481516\""));
            smtp.expect("250");
            // The connections are returned, so that closing them is not measured.
            (smtp, waiting)
        });
}

#[divan::bench(sample_count = 500, sample_size = 1)]
fn answer_of_a_message_that_is_there(bencher: Bencher) {
    let server = Server::start();
    let mut smtp = Smtp::connect(server.smtp);
    let mut http = Http::connect(server.http, &server.key);
    let inbox = http.create_inbox();
    smtp.send_up_to_the_dot(&inbox);
    smtp.stream.write_all(b"\r\n.\r\n").unwrap();
    smtp.expect("250");
    let mut http = http.ask("GET", &format!("/v1/inboxes/{inbox}/messages/wait"));
    http.answer();
    bencher.bench_local(|| {
        http.write("GET", &format!("/v1/inboxes/{inbox}/messages/wait"));
        http.answer()
    });
}

/// The service on free ports, with a new database.
struct Server {
    smtp: SocketAddr,
    http: SocketAddr,
    key: ApiKey,
    _runtime: Runtime,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let key = ApiKey::generate();
        let (smtp, http) = runtime.block_on(serve(settings(directory.path()), key.clone()));
        Self {
            smtp,
            http,
            key,
            _runtime: runtime,
            _directory: directory,
        }
    }
}

async fn serve(settings: Settings, key: ApiKey) -> (SocketAddr, SocketAddr) {
    let database = Database::open(&settings.data.url()).await.unwrap();
    let service = Service::start(
        database,
        Clock::system(),
        options(settings.limits.inbox_messages),
    )
    .await
    .unwrap();
    service
        .projects()
        .prepare_default(Some(&key))
        .await
        .unwrap();
    let receiver = Receiver::bind(&settings, service.clone()).await.unwrap();
    let listener = TcpListener::bind(settings.listeners.http_listen)
        .await
        .unwrap();
    let addresses = (receiver.local_addr(), listener.local_addr().unwrap());
    let never = CancellationToken::new();
    tokio::spawn(receiver.run(never.clone(), Duration::ZERO));
    let limits = http::server::ConnectionLimits {
        all: 1_000,
        per_address: 1_000,
        proxies: Vec::new(),
    };
    tokio::spawn(http::server::serve(
        listener,
        http::router(app(&service)),
        service,
        limits,
        never,
        Duration::ZERO,
    ));
    addresses
}

/// A mail client that keeps its connection.
struct Smtp {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Smtp {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Self {
            replies: BufReader::new(stream.try_clone().unwrap()),
            stream,
        };
        client.expect("220");
        client.command("EHLO client.test", "250");
        client
    }

    fn send_up_to_the_dot(&mut self, inbox: &str) {
        self.command("MAIL FROM:<app@shop.test>", "250");
        self.command(&format!("RCPT TO:<{inbox}@restante.example.com>"), "250");
        self.command("DATA", "354");
        let filler = "Lorem ipsum dolor sit amet, consectetur adipiscing elit.\r\n".repeat(60);
        let message = format!(
            "From: Shop <app@shop.test>\r\nSubject: Your code\r\n\r\nYour code is 481516.\r\n\
             https://shop.test/confirm?token=1\r\n{filler}"
        );
        self.stream.write_all(message.as_bytes()).unwrap();
    }

    fn command(&mut self, line: &str, code: &str) {
        self.stream
            .write_all(format!("{line}\r\n").as_bytes())
            .unwrap();
        self.expect(code);
    }

    fn expect(&mut self, code: &str) {
        let mut line = String::new();
        while line.as_bytes().get(3) != Some(&b' ') {
            line.clear();
            self.replies.read_line(&mut line).unwrap();
            assert!(line.starts_with(code), "{line}");
        }
    }
}

/// An HTTP client that keeps its connection.
struct Http {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    key: String,
}

impl Http {
    fn connect(address: SocketAddr, key: &ApiKey) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            answers: BufReader::new(stream.try_clone().unwrap()),
            stream,
            key: key.as_str().to_owned(),
        }
    }

    fn create_inbox(&mut self) -> String {
        self.write("POST", "/v1/inboxes");
        let inbox: serde_json::Value = serde_json::from_str(&self.answer()).unwrap();
        inbox["id"].as_str().unwrap().to_owned()
    }

    fn ask(mut self, method: &str, path: &str) -> Self {
        self.write(method, path);
        self
    }

    fn write(&mut self, method: &str, path: &str) {
        let key = &self.key;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {key}\r\nContent-Length: 0\r\n\r\n"
        );
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            self.answers.read_line(&mut line).unwrap();
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.answers.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }
}
