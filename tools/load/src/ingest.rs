//! Receiving mail: sessions that send, waits that follow them, and a check that every accepted
//! message is stored.

use std::collections::HashSet;

use crate::http::{Http, create_inboxes, parsed};
use crate::mail::number;
use crate::options::Ingest;
use crate::sending::{Follower, Outcome, Recipients, Run, Sending};
use crate::server::{KEY, Server, WAITS_A_KEY, new_data_dir, pin_load, runtime};
use crate::store::create_keys;

/// The inboxes that receive the mail in turn.
const INBOXES: u64 = 1_000;

pub(crate) fn run(options: &Ingest) -> bool {
    pin_load(&options.program.place);
    let outcome = runtime().block_on(async {
        if options.smtp.is_empty() {
            return against_restante(options).await;
        }
        Run::among(&options.traffic, options.smtp.clone(), recipients(options))
            .send(Vec::new())
            .await
            .outcome()
    });
    outcome.print();
    outcome.missing.unwrap_or(0) == 0 && outcome.failed == 0
}

fn recipients(options: &Ingest) -> Recipients {
    if options.new_inboxes {
        Recipients::new_inboxes(&options.domain)
    } else {
        Recipients::rotation(INBOXES, &options.domain)
    }
}

async fn against_restante(options: &Ingest) -> Outcome {
    let data = new_data_dir(&options.program.place);
    let place = &options.program.place;
    let followed = if options.follow {
        options.traffic.sessions
    } else {
        0
    };
    let keys = create_keys(data.path(), followed.div_ceil(WAITS_A_KEY)).await;
    let server = Server::start_on(place, &options.program.restante, data, &[]);
    let key = |inbox: usize| keys[inbox / WAITS_A_KEY].as_str();
    let inboxes = create_inboxes(&server.http, (0..followed).map(key)).await;
    let followers = inboxes
        .iter()
        .zip((0..).map(key))
        .map(|(inbox, key)| Follower::new(&server.http, inbox, key));

    let run = Run::new(&options.traffic, server.smtp.clone(), recipients(options));
    let recipients = run.recipients();
    let sending = run.send(followers.collect());
    let (mut outcome, taken) = server.measure_with(sending, Sending::taken).await;
    if !options.follow {
        outcome.missing = Some(missing(&server.http, &recipients, taken).await);
    }
    outcome
}

/// The number of these messages that are in no inbox.
pub(crate) async fn missing(http: &str, recipients: &Recipients, mut taken: HashSet<u64>) -> usize {
    let mut http = Http::connect(http).await.unwrap();
    let inboxes: HashSet<String> = taken
        .iter()
        .map(|number| recipients.inbox(*number))
        .collect();
    for inbox in inboxes {
        let (_, body) = http
            .ask("GET", &format!("/v1/inboxes/{inbox}/messages"), KEY)
            .await
            .unwrap();
        for message in parsed(&body)["messages"].as_array().into_iter().flatten() {
            number(message["subject"].as_str().unwrap()).map(|number| taken.remove(&number));
        }
    }
    taken.len()
}
