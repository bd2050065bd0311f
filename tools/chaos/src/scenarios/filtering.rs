//! Filters and cursors of waits and lists.

use std::thread;
use std::time::Duration;

use rand::RngExt;
use serde_json::Value;

use crate::client::Client;
use crate::http::{Answer, Request};
use crate::journal::Told;
use crate::mail::Outcome;

const WAIT: &str = "/v1/inboxes/{id}/messages/wait";
const LIST: &str = "/v1/inboxes/{id}/messages";

/// A wait after a cursor, with any filters, returns the first message that matches: not those
/// before the cursor, and not the one without a code.
pub(super) fn a_wait(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let Some(cursor) = newest(client, inbox) else {
        return;
    };
    let without_code = client.token();
    let token = client.token();
    let (filter, by_token) = filter(client, token);
    let id = client.inboxes[inbox].id.clone();
    let wait = Request::get(
        WAIT,
        format!("/v1/inboxes/{id}/messages/wait?timeout=10000&after={cursor}&{filter}"),
    );
    let node = client.node();
    let asker = client.asker.clone();
    let before = client.world.moment();
    let (first, sent) = thread::scope(|scope| {
        let first = scope.spawn(|| asker.ask(node, &wait));
        let (noise, _) = client.try_text(without_code, &[inbox], "Nothing to type here.");
        let sent = client.mail(token, &[inbox]);
        (
            first.join().expect("a request does not panic"),
            noise == Outcome::Accepted && sent == Outcome::Accepted,
        )
    });
    if !sent {
        return;
    }
    let calm = client.world.peaceful_since(before);
    let answer = match first {
        Some(answer) if calm || answer.status == 200 => answer,
        _ => match client.until_answered(&wait) {
            Some(answer) => answer,
            None => return,
        },
    };
    // Mail whose answer was lost may be stored late, between the cursor and this.
    let late = |token: u64| {
        matches!(
            client.inboxes[inbox].mail.get(&token),
            Some(Told::Unknown(_))
        )
    };
    let found = (answer.status == 200).then(|| client.token_of(&answer.body));
    let right = found == Some(token) || (!by_token && found.is_some_and(late));
    if !right && (calm || answer.status != 408) {
        client.world.find(
            "a wait returns the first match after its cursor",
            format!("{token}: {wait:?}: {answer:?}"),
        );
    }
}

/// Filters that the message with this token meets and the one without a code does not; and whether
/// only it does.
fn filter(client: &mut Client<'_>, token: u64) -> (String, bool) {
    let subject = client.subject(token).replace(' ', "%20");
    match client.random.random_range(0..8) {
        0 => (
            format!("subject={}&has=otp", subject.to_ascii_uppercase()),
            true,
        ),
        1 => (format!("to={subject}&from=SHOP"), true),
        2 => (format!("text=Reference:%20{subject}"), true),
        3 => (format!("header=x-token:{subject}"), true),
        4 => (format!("from=app@shop&subject={subject}&text=4821"), true),
        5 => ("has=code,otp".to_owned(), false),
        6 => ("text=your%20CODE".to_owned(), false),
        _ => ("has=otp&from=app@shop.example".to_owned(), false),
    }
}

/// The id of the newest message, of a new one if there is none.
fn newest(client: &mut Client<'_>, inbox: usize) -> Option<String> {
    let token = client.token();
    if client.mail(token, &[inbox]) != Outcome::Accepted {
        return None;
    }
    let messages = messages(client, inbox, "limit=1")?;
    Some(messages.first()?["id"].as_str()?.to_owned())
}

/// The part of a list after a message, the part before it, and the message itself are the whole
/// list.
pub(super) fn a_list(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let Some(whole) = messages(client, inbox, "")
        .map(|whole| ids(&whole))
        .filter(|whole| !whole.is_empty())
    else {
        return;
    };
    let index = client.random.random_range(0..whole.len());
    let newer = &whole[..index];
    let older = &whole[index + 1..];
    let Some(after) = messages(client, inbox, &format!("after={}", whole[index])) else {
        return;
    };
    let Some(before) = messages(client, inbox, &format!("before={}", whole[index])) else {
        return;
    };
    // Mail whose answer was lost may have been stored since.
    if !ids(&after).ends_with(newer) || ids(&before) != older {
        let detail = format!(
            "{whole:?} at {index}: after {:?}, before {:?}",
            ids(&after),
            ids(&before)
        );
        client.world.find("a list continues at its cursor", detail);
    }
}

fn messages(client: &mut Client<'_>, inbox: usize, query: &str) -> Option<Vec<Value>> {
    let path = format!("/v1/inboxes/{}/messages?{query}", client.inboxes[inbox].id);
    match client.until_answered(&Request::get(LIST, path))? {
        Answer { status: 200, body } => {
            Some(body["messages"].as_array().cloned().unwrap_or_default())
        }
        answer => {
            client
                .world
                .find("an own inbox can be listed", format!("{query}: {answer:?}"));
            None
        }
    }
}

fn ids(messages: &[Value]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message["id"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// A wait on an inbox that expires ends with 404 at that time, unless a failure ends it before.
pub(super) fn until_the_inbox_expires(client: &mut Client<'_>) {
    let soon = |earliest: std::time::Instant| {
        earliest < std::time::Instant::now() + Duration::from_secs(8)
    };
    let expires = |index: &usize| {
        let inbox = &client.inboxes[*index];
        inbox.lives() && !inbox.deleted && inbox.life.is_some_and(|(earliest, _)| soon(earliest))
    };
    let Some(inbox) = (0..client.inboxes.len()).find(expires) else {
        return;
    };
    let id = client.inboxes[inbox].id.clone();
    let wait = Request::get(
        WAIT,
        format!("/v1/inboxes/{id}/messages/wait?timeout=15000&subject=nobody"),
    );
    let node = client.node();
    let before = client.world.moment();
    let Some(answer) = client.asker.ask(node, &wait) else {
        return;
    };
    let inbox = &client.inboxes[inbox];
    let in_time = !inbox.lives() && !inbox.has_expired();
    if client.world.peaceful_since(before) && (answer.status != 404 || !in_time) {
        client.world.find(
            "a wait ends when its inbox expires",
            format!("{answer:?} {inbox:?}"),
        );
    }
}
