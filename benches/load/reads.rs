//! Reads while many messages are held: one message, and the list of an inbox with ten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::task::JoinSet;

use crate::figures::{Sample, grouped, median};
use crate::http::{Http, parsed};
use crate::ingest::Run;
use crate::options::{Cli, Command, Reads, Traffic};
use crate::server::{KEY, Server, new_data_dir, pin_load, pinned, runtime};
use crate::store::fill;

/// Inboxes whose messages are read, spread over all that are held.
const INBOXES_READ: usize = 500;

pub(crate) fn run(options: &Reads) -> bool {
    pin_load(&options.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Reads) -> bool {
    let mut stores = Vec::new();
    for &messages in &options.messages {
        stores.push(Held::start(options, messages).await);
    }
    let mut command = pinned(&options.place, &std::env::current_exe().unwrap());
    command.arg("fixed-server");
    let fixed = Server::spawn(command, new_data_dir(&options.place));
    let fixed_path = Arc::from(["/".to_owned()]);
    for _ in 0..options.runs {
        print_rate("a fixed body of 4 KiB", &read_all(options, &fixed.http, &fixed_path, None).await);
        for held in &mut stores {
            held.read(options).await;
        }
    }
    if options.runs > 1 {
        print_medians(&stores);
    }
    if let Some(rate) = options.beside_ingest {
        for held in &stores {
            beside_ingest(options, &held.server, &held.messages, rate).await;
        }
    }
    true
}

/// A server that holds so many messages.
struct Held {
    count: String,
    server: Server,
    /// The paths of messages.
    messages: Arc<[String]>,
    /// The paths of lists.
    lists: Arc<[String]>,
    /// How often messages, and how often lists were read a second, run by run.
    rates: [Vec<f64>; 2],
}

impl Held {
    async fn start(options: &Reads, count: usize) -> Self {
        let data = new_data_dir(&options.place);
        let inboxes = fill(data.path(), count).await;
        let server = Server::start_on(&options.place, data, &[]);
        let count = grouped(count as f64);
        println!("{count} messages held; started in {:.0} ms", server.started_in.as_secs_f64() * 1e3);
        let read = inboxes.iter().step_by(inboxes.len().div_ceil(INBOXES_READ));
        let lists: Arc<[String]> = read.map(|inbox| format!("/v1/inboxes/{inbox}/messages")).collect();
        let messages = messages_of(&server, &lists).await;
        Self { count, server, messages, lists, rates: Default::default() }
    }

    async fn read(&mut self, options: &Reads) {
        let kinds = [("one message", &self.messages), ("the list of an inbox with ten", &self.lists)];
        for ((what, paths), rates) in kinds.into_iter().zip(&mut self.rates) {
            let read = read_all(options, &self.server.http, paths, None).await;
            print_rate(&format!("{what}, of {}", self.count), &read);
            rates.push(read.0 as f64);
        }
    }
}

/// The paths of all messages in these lists.
async fn messages_of(server: &Server, lists: &[String]) -> Arc<[String]> {
    let mut http = Http::connect(&server.http).await.unwrap();
    let mut paths = Vec::new();
    for list in lists {
        let (_, body) = http.ask("GET", list, KEY).await.unwrap();
        let ids = parsed(&body)["messages"].as_array().unwrap().clone();
        paths.extend(ids.iter().map(|message| format!("/v1/messages/{}", message["id"].as_str().unwrap())));
    }
    paths.into()
}

/// Asks for one path after the other on kept connections, at `rate` a second if there is one.
async fn read_all(options: &Reads, address: &str, paths: &Arc<[String]>, rate: Option<u64>) -> (u64, Sample) {
    let (begun, next) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let end = begun + Duration::from_secs(options.seconds);
    let mut tasks = JoinSet::new();
    for _ in 0..options.connections {
        let (paths, next, address) = (Arc::clone(paths), Arc::clone(&next), address.to_owned());
        tasks.spawn(async move {
            let (mut http, mut took) = (Http::connect(&address).await.unwrap(), Vec::new());
            while Instant::now() < end {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if let Some(rate) = rate {
                    let due = begun + Duration::from_secs_f64(number as f64 / rate as f64);
                    tokio::time::sleep_until(due.min(end).into()).await;
                }
                let path = &paths[(number as usize).wrapping_mul(7_919) % paths.len()];
                let asked = Instant::now();
                let (status, body) = http.ask("GET", path, KEY).await.unwrap();
                assert!(status == 200 && body.len() > 1_000, "{status} {}", String::from_utf8_lossy(&body));
                took.push(asked.elapsed());
            }
            took
        });
    }
    let took: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    ((took.len() as f64 / begun.elapsed().as_secs_f64()) as u64, Sample::new(took))
}

fn print_rate(what: &str, (rate, took): &(u64, Sample)) {
    println!("  {what:<43} {:>8} a second   {}", grouped(*rate as f64), took.line());
}

fn print_medians(stores: &[Held]) {
    println!("| messages held, medians | one message | the list of an inbox with ten |");
    println!("|---|---|---|");
    for Held { count, rates, .. } in stores {
        let [messages, lists] = rates.clone().map(|rates| grouped(median(rates)));
        println!("| {count} | {messages} | {lists} |");
    }
}

async fn beside_ingest(options: &Reads, server: &Server, messages: &Arc<[String]>, rate: u64) {
    let before = ingest(options, server).await;
    let (beside, (reads, _)) =
        tokio::join!(ingest(options, server), read_all(options, &server.http, messages, Some(rate)));
    // Once more, because what has come in meanwhile slows it down as well.
    let alone = f64::midpoint(before, ingest(options, server).await);
    println!(
        "  20 sessions that send: {} a second alone, {} beside {reads} reads a second",
        grouped(alone),
        grouped(beside)
    );
}

async fn ingest(options: &Reads, server: &Server) -> f64 {
    let Some(Command::Ingest(defaults)) = Cli::parse_from(["load", "ingest"]).command else { unreachable!() };
    let traffic = Traffic { seconds: Some(options.seconds), ..defaults.traffic };
    let addresses = (0..2_000).map(|number| format!("load{number}@restante.test")).collect();
    Run::new(&traffic, server.smtp.clone(), addresses).send(Vec::new()).await.outcome().rate()
}

/// The ceiling: the same HTTP library with nothing behind it.
pub(crate) fn serve_fixed() -> bool {
    let body = "x".repeat(4_096);
    let router = axum::Router::new().route("/", axum::routing::get(|| async move { body.clone() }));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("SMTP none\nHTTP {}", listener.local_addr().unwrap());
        axum::serve(listener, router).await.unwrap();
    });
    true
}
