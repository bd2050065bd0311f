//! Fault injection: the next mail meets the fault, and the one after it does not.

use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::client::Client;
use crate::http::Request;
use crate::journal::Told;
use crate::mail::Outcome;

const TEMPLATE: &str = "/v1/inboxes/{id}/faults";
/// Where the fault applies, what it does, the reply that the client must see, and how often the mail is stored.
const FAULTS: [(&str, &str, Option<&str>, usize); 6] = [
    ("rcpt", "defer", Some("451"), 0),
    ("rcpt", "reject", Some("550"), 0),
    ("data", "defer", Some("451"), 0),
    ("data", "reject", Some("550"), 0),
    ("data", "disconnect", None, 0),
    ("data", "duplicate", Some("250"), 2),
];

pub(super) fn on_request(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let &(at, action, reply, stored) = FAULTS.choose(&mut client.random).expect("there are some");
    let path = format!("/v1/inboxes/{}/faults", client.inboxes[inbox].id);
    let list = json!({"faults": [{"at": at, "do": action}]});
    let before = client.world.moment();
    if client.until_answered(&Request::put(TEMPLATE, &path, list)).is_none_or(|answer| answer.status != 200) {
        return;
    }
    let token = client.token();
    let (outcome, peaceful) = client.try_mail(token, &[inbox]);
    let calm = peaceful && client.world.peaceful_since(before);
    if calm && !meets(&outcome, reply) {
        client.world.find("a fault applies to the next mail", format!("{at} {action}: {outcome:?}"));
    }
    // In a failure, the use may have been counted although its answer was lost, or not.
    client.tell(inbox, token, if calm { exactly(stored) } else { weakest(&outcome) });
    if calm {
        let token = client.token();
        client.mail(token, &[inbox]);
        used_once(client, &path, action);
    } else {
        // It may not have been used; later mail must not meet it.
        client.until_answered(&Request::delete(TEMPLATE, path));
    }
}

fn meets(outcome: &Outcome, expected: Option<&str>) -> bool {
    match (outcome, expected) {
        (Outcome::Accepted, Some("250")) | (Outcome::NoReply, None) => true,
        (Outcome::Reply(reply), Some(expected)) => reply.starts_with(expected),
        _ => false,
    }
}

fn exactly(stored: usize) -> Told {
    if stored == 0 { Told::Refused } else { Told::Stored(stored) }
}

fn weakest(outcome: &Outcome) -> Told {
    if *outcome == Outcome::NotSent { Told::Refused } else { Told::Unknown(2) }
}

fn used_once(client: &mut Client<'_>, path: &str, action: &str) {
    let Some(answer) = client.until_answered(&Request::get(TEMPLATE, path)) else { return };
    let used: Vec<&Value> =
        answer.body["faults"].as_array().into_iter().flatten().map(|fault| &fault["used"]).collect();
    if used != [&json!(1)] {
        client.world.find("a fault is used once", format!("{action}: {}", answer.body));
    }
}
