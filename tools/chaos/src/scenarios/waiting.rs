//! Waits: for mail that comes, for mail that does not, and as many as a key may open.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, EVENT_TIMEOUT};
use crate::http::{Answer, Request};
use crate::mail::Outcome;

const TEMPLATE: &str = "/v1/inboxes/{id}/messages/wait";
/// How much later than its timeout a wait may end while nothing fails.
const LATE: Duration = Duration::from_secs(2);
/// Open waits that a key may have.
const SLOTS: usize = 4;

pub(super) fn request(inbox: &str, subject: &str, timeout: Duration) -> Request {
    let subject = subject.replace(' ', "%20");
    let timeout = timeout.as_millis();
    Request::get(
        TEMPLATE,
        format!("/v1/inboxes/{inbox}/messages/wait?timeout={timeout}&subject={subject}"),
    )
}

/// A wait is opened on one node, mail is sent to any, and the wait returns it. If a failure ends
/// the wait, it is repeated, as the client libraries do.
pub(super) fn for_mail(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let token = client.token();
    let node = client.node();
    let asker = client.asker.clone();
    let wait = request(
        &client.inboxes[inbox].id,
        &client.subject(token),
        Duration::from_secs(10),
    );
    let before = client.world.moment();
    let (first, outcome) = thread::scope(|scope| {
        let first = scope.spawn(|| asker.ask(node, &wait));
        let outcome = client.mail(token, &[inbox]);
        (first.join().expect("a request does not panic"), outcome)
    });
    if outcome != Outcome::Accepted {
        return;
    }
    match first {
        Some(answer) if answer.status == 200 => expect(client, &answer, token),
        Some(answer) if client.world.peaceful_since(before) => {
            client.world.find(
                "an open wait returns the mail",
                format!("{wait:?}: {answer:?}"),
            );
        }
        _ => repeated(client, &wait, token),
    }
}

fn repeated(client: &mut Client<'_>, wait: &Request, token: u64) {
    let since = Instant::now();
    while since.elapsed() < EVENT_TIMEOUT {
        match client.until_answered(wait) {
            Some(answer) if answer.status == 200 => return expect(client, &answer, token),
            Some(Answer { status: 408, .. }) => {}
            Some(answer) => {
                return client
                    .world
                    .find("a repeated wait returns the mail", format!("{answer:?}"));
            }
            None => return,
        }
    }
    client
        .world
        .find("a repeated wait returns the mail", format!("{wait:?}"));
}

fn expect(client: &Client<'_>, answer: &Answer, token: u64) {
    if client.token_of(&answer.body) != token || answer.body["otp"] != "4821" {
        client.world.find(
            "a wait returns what its filter matches",
            format!("message {token}: {}", answer.body),
        );
    }
}

/// Nothing comes: the wait ends with 408, and not before its time.
pub(super) fn in_vain(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let timeout = Duration::from_millis(400);
    let wait = request(&client.inboxes[inbox].id, "nobody writes this", timeout);
    let node = client.node();
    let before = client.world.moment();
    let started = Instant::now();
    let Some(answer) = client.asker.ask(node, &wait) else {
        return;
    };
    let took = started.elapsed();
    let peaceful = client.world.peaceful_since(before);
    let early = answer.status == 408 && took < timeout;
    if early || (peaceful && (answer.status != 408 || took > timeout + LATE)) {
        client.world.find(
            "a wait without mail ends at its timeout",
            format!("{answer:?} after {took:?}"),
        );
    }
}

/// After all failures a key can open exactly as many waits as before them.
pub(crate) fn slots(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let wait = request(
        &client.inboxes[inbox].id,
        "nobody writes this",
        Duration::from_secs(3),
    );
    let since = Instant::now();
    loop {
        let statuses = open(client, &wait);
        if statuses == [408, 408, 408, 408, 429] {
            return;
        }
        // PostgreSQL frees the slots of a node that was killed when it notices.
        if since.elapsed() > EVENT_TIMEOUT {
            return client.world.find(
                "a key has all its waits after failures",
                format!("{statuses:?}"),
            );
        }
    }
}

/// Opens one wait more than allowed, all at once.
fn open(client: &Client<'_>, wait: &Request) -> Vec<u16> {
    let mut statuses: Vec<u16> = thread::scope(|scope| {
        let waits: Vec<_> = (0..=SLOTS)
            .map(|node| scope.spawn(move || client.asker.ask(node, wait)))
            .collect();
        waits
            .into_iter()
            .map(|wait| {
                wait.join()
                    .expect("no panic")
                    .map_or(0, |answer| answer.status)
            })
            .collect()
    });
    statuses.sort_unstable();
    statuses
}
