//! Fault injection: the requested number of messages meets the fault, and those after them do not.

use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::client::Client;
use crate::http::Request;
use crate::journal::Told;
use crate::mail::Outcome;

const TEMPLATE: &str = "/v1/inboxes/{id}/faults";
/// Leaves the reply as it is, and so the copies of other recipients.
const CONCERNS_ONE: [&str; 3] = ["bounce", "drop", "duplicate"];
/// The messages that are sent at the same time, and how many of them are rejected.
const TOGETHER: usize = 6;
const USES: usize = 2;
const DELAY: Duration = Duration::from_secs(1);
/// Where the fault applies, what it does and whether it stores the mail first, the reply that the
/// client must see, and how often the mail is stored.
const FAULTS: [(&str, &str, Option<&str>, usize); 15] = [
    ("rcpt", "defer", Some("451"), 0),
    ("rcpt", "reject", Some("550"), 0),
    ("data", "defer", Some("451"), 0),
    ("data", "reject", Some("550"), 0),
    ("rcpt", "disconnect", None, 0),
    ("rcpt", "reset", None, 0),
    ("rcpt", "delay", Some("250"), 1),
    ("data", "disconnect", None, 0),
    ("data", "disconnect, stored", None, 1),
    ("data", "reset", None, 0),
    ("data", "reset, stored", None, 1),
    ("data", "delay", Some("250"), 1),
    ("data", "bounce", Some("250"), 0),
    ("data", "drop", Some("250"), 0),
    ("data", "duplicate", Some("250"), 2),
];

pub(super) fn on_request(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let &(at, action, reply, stored) = FAULTS.choose(&mut client.random).expect("there are some");
    let path = format!("/v1/inboxes/{}/faults", client.inboxes[inbox].id);
    let list = json!({"faults": [fault(at, action)]});
    let before = client.world.moment();
    if client
        .until_answered(&Request::put(TEMPLATE, &path, list))
        .is_none_or(|answer| answer.status != 200)
    {
        return;
    }
    let token = client.token();
    let other = another(client, inbox);
    let recipients: Vec<usize> = [inbox].into_iter().chain(other).collect();
    let sending = Instant::now();
    let (outcome, peaceful) = client.try_mail(token, &recipients);
    let early = action == "delay" && sending.elapsed() < DELAY;
    let calm = peaceful && client.world.peaceful_since(before);
    if calm && (early || !meets(&outcome, reply)) {
        client.world.find(
            "a fault applies to the next mail",
            format!("{at} {action}: {outcome:?}"),
        );
    }
    // In a failure, the use may have been counted although its answer was lost, or not.
    let told = |stored| {
        if calm {
            exactly(stored)
        } else {
            weakest(&outcome)
        }
    };
    client.tell(inbox, token, told(stored));
    if let Some(other) = other {
        client.tell(
            other,
            token,
            told(if CONCERNS_ONE.contains(&action) {
                1
            } else {
                stored
            }),
        );
    }
    if calm {
        let token = client.token();
        client.mail(token, &[inbox]);
        used_once(client, &path, action);
    } else {
        // It may not have been used; later mail must not meet it.
        client.until_answered(&Request::delete(TEMPLATE, path));
    }
}

/// Now and then another inbox that gets the same message.
fn another(client: &mut Client<'_>, inbox: usize) -> Option<usize> {
    let other = if client.chance(40) {
        client.inbox()
    } else {
        None
    };
    other.filter(|other| *other != inbox)
}

/// Of mail that arrives at the same moment, a fault meets as many messages as requested.
pub(super) fn several_at_once(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let path = format!("/v1/inboxes/{}/faults", client.inboxes[inbox].id);
    let list = json!({"faults": [{"at": "data", "do": "reject", "times": USES}]});
    let before = client.world.moment();
    if client
        .until_answered(&Request::put(TEMPLATE, &path, list))
        .is_none_or(|answer| answer.status != 200)
    {
        return;
    }
    let outcomes = client.mail_together(inbox, TOGETHER);
    let met = outcomes
        .iter()
        .filter(|outcome| meets(outcome, Some("550")))
        .count();
    let passed = outcomes
        .iter()
        .filter(|outcome| **outcome == Outcome::Accepted)
        .count();
    if client.world.peaceful_since(before) && (met, passed) != (USES, TOGETHER - USES) {
        client.world.find(
            "a fault meets as many messages as requested",
            format!("{outcomes:?}"),
        );
    }
    client.until_answered(&Request::delete(TEMPLATE, path));
}

fn fault(at: &str, action: &str) -> Value {
    let (action, stores) = action
        .strip_suffix(", stored")
        .map_or((action, false), |action| (action, true));
    let mut fault = json!({"at": at, "do": action});
    if action == "delay" {
        fault["seconds"] = json!(DELAY.as_secs());
    }
    if stores {
        fault["store"] = json!(true);
    }
    fault
}

fn meets(outcome: &Outcome, expected: Option<&str>) -> bool {
    match (outcome, expected) {
        (Outcome::Accepted, Some("250")) | (Outcome::NoReply | Outcome::NotSent, None) => true,
        (Outcome::Reply(reply), Some(expected)) => reply.starts_with(expected),
        _ => false,
    }
}

fn exactly(stored: usize) -> Told {
    if stored == 0 {
        Told::Refused
    } else {
        Told::Stored(stored)
    }
}

fn weakest(outcome: &Outcome) -> Told {
    if *outcome == Outcome::NotSent {
        Told::Refused
    } else {
        Told::Unknown(2)
    }
}

fn used_once(client: &mut Client<'_>, path: &str, action: &str) {
    let Some(answer) = client.until_answered(&Request::get(TEMPLATE, path)) else {
        return;
    };
    let used: Vec<&Value> = answer.body["faults"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|fault| &fault["used"])
        .collect();
    if used != [&json!(1)] {
        client
            .world
            .find("a fault is used once", format!("{action}: {}", answer.body));
    }
}
