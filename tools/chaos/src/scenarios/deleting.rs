//! Deletions of inboxes, with a wait on them, of messages, and of nothing by a search without a
//! condition.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::waiting;
use crate::client::Client;
use crate::http::{Answer, Request};
use crate::journal::{DOMAIN, Inbox, LIFETIME, Told};
use crate::mail::Outcome;

/// How soon a wait on a deleted inbox must end while nothing fails.
const SOON: Duration = Duration::from_secs(2);

/// An open wait on the inbox ends with 404; late mail opens the address again, without the old
/// mail.
pub(super) fn an_inbox(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let first = client.token();
    client.mail(first, &[inbox]);
    let id = client.inboxes[inbox].id.clone();
    let node = client.node();
    let asker = client.asker.clone();
    let wait = waiting::request(&id, "nobody writes this", Duration::from_secs(8));
    let before = client.world.moment();
    let deleted = thread::scope(|scope| {
        let open = scope.spawn(|| (asker.ask(node, &wait), Instant::now()));
        let deletion = Request::delete("/v1/inboxes/{id}", format!("/v1/inboxes/{id}"));
        let deleted = client.until_answered(&deletion);
        let at = Instant::now();
        let (answer, ended) = open.join().expect("a request does not panic");
        if client.world.peaceful_since(before) {
            end_of_wait(client, answer.as_ref(), ended.saturating_duration_since(at));
        }
        deleted
    });
    match deleted {
        // 404: the first answer was lost, and this is its repetition.
        Some(Answer {
            status: 204 | 404, ..
        }) => client.inboxes[inbox].deleted = true,
        other => {
            return client
                .world
                .find("an inbox can be deleted", format!("{other:?}"));
        }
    }
    if client.chance(30) && client.inboxes[inbox].address.ends_with(DOMAIN) {
        late_mail(client, inbox);
    }
}

fn end_of_wait(client: &Client<'_>, answer: Option<&Answer>, took: Duration) {
    if answer.is_none_or(|answer| answer.status != 404) || took > SOON {
        client.world.find(
            "a wait ends with its inbox",
            format!("{answer:?} {took:?} after the deletion"),
        );
    }
}

/// The address belongs to this client's project for 30 days.
fn late_mail(client: &mut Client<'_>, ended: usize) {
    let Inbox { id, address, .. } = &client.inboxes[ended];
    let again = Inbox {
        has_tags: false,
        ..Inbox::new(id.clone(), address.clone(), Instant::now())
    };
    client.inboxes.push(again);
    let again = client.inboxes.len() - 1;
    let token = client.token();
    if client.mail(token, &[again]) == Outcome::Accepted {
        // The address now names the new inbox, which was created when the mail was stored.
        client.inboxes[again].life = client.inboxes[again]
            .life
            .map(|(earliest, _)| (earliest, Instant::now() + LIFETIME + SOON));
        client.inboxes.swap_remove(ended);
    } else {
        // Whether it is open again is not known, so neither is checked.
        client.inboxes.truncate(again);
        client.inboxes.swap_remove(ended);
    }
}

/// A deleted message is gone, and the others stay.
pub(super) fn a_message(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let token = client.token();
    if client.mail(token, &[inbox]) != Outcome::Accepted {
        return;
    }
    let id = client.inboxes[inbox].id.clone();
    let wait = waiting::request(&id, &client.subject(token), Duration::from_secs(10));
    let Some(answer) = client.until_answered(&wait) else {
        return;
    };
    let Some(message) = answer.body["id"].as_str().filter(|_| answer.status == 200) else {
        return client
            .world
            .find("acknowledged mail is returned", format!("{answer:?}"));
    };
    let deletion = Request::delete("/v1/messages/{id}", format!("/v1/messages/{message}"));
    match client.until_answered(&deletion) {
        Some(Answer {
            status: 204 | 404, ..
        }) => client.tell(inbox, token, Told::Refused),
        Some(Answer {
            body: Value::Null, ..
        })
        | None => {}
        other => client
            .world
            .find("a message can be deleted", format!("{other:?}")),
    }
}

/// A deletion by a search of which no condition counts would delete all mail of the project, so it
/// is rejected.
pub(super) fn by_an_empty_search(client: &mut Client<'_>) {
    let query = if client.chance(50) {
        "tag%3Anews"
    } else {
        "to%3A%22%22"
    };
    let path = "/mailpit/api/v1/search";
    let request = Request::delete(path, format!("{path}?query={query}"));
    if let Some(answer) = client
        .until_answered(&request)
        .filter(|answer| answer.status != 400)
    {
        client.world.find(
            "a deletion without a condition is rejected",
            format!("{request:?}: {answer:?}"),
        );
    }
}
