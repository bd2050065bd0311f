//! The memory of an idle server: after the start, with open connections, and with open waits.

use std::time::Duration;

use crate::figures::mebibytes;
use crate::http::{create_inboxes, hold};
use crate::options::Idle;
use crate::server::{Server, WAITS_A_KEY, new_data_dir, pin_load, runtime};
use crate::session::Session;
use crate::store::create_keys;

const MANY: usize = 1_000;
/// After this time the server has finished its start, and has read all data that was sent.
const SETTLED: Duration = Duration::from_secs(2);

pub(crate) fn run(options: &Idle) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options));
    true
}

async fn measure(options: &Idle) {
    let place = &options.program.place;
    let program = &options.program.restante;
    let server = Server::start(place, program, &[]);
    let rest = resident(&server).await;
    println!(
        "started in {:.0} ms; at rest {}",
        server.started_in.as_secs_f64() * 1e3,
        mebibytes(rest)
    );
    let mut sessions = Vec::new();
    for _ in 0..MANY {
        sessions.push(Session::open(&server.smtp).await.unwrap());
    }
    println!(
        "{MANY} SMTP sessions: {} more",
        mebibytes(resident(&server).await.saturating_sub(rest))
    );
    drop((sessions, server));

    let data = new_data_dir(place);
    let keys = create_keys(data.path(), MANY.div_ceil(WAITS_A_KEY)).await;
    let server = Server::start_on(place, program, data, &[]);
    let key = |inbox: usize| keys[inbox / WAITS_A_KEY].as_str();
    let inboxes = create_inboxes(&server.http, (0..MANY).map(key)).await;
    let rest = resident(&server).await;
    let _held = hold(&server.http, inboxes.iter().zip((0..).map(key))).await;
    println!(
        "{MANY} waits: {} more",
        mebibytes(resident(&server).await.saturating_sub(rest))
    );
}

async fn resident(server: &Server) -> u64 {
    tokio::time::sleep(SETTLED).await;
    server.process().resident()
}
