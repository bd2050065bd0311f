//! What a person does in the dashboard: permanent inboxes, deletions, and a page that stays open.

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::dashboard::Pages;
use crate::http::Request;
use crate::journal::{DOMAIN, Inbox};
use crate::mail::Outcome;
use crate::world::Moment;

/// How soon an open page is notified of mail while nothing fails.
const SOON: Duration = Duration::from_secs(3);

fn pages(client: &mut Client<'_>) -> Option<Pages> {
    if client.pages.is_none() {
        let node = client.node();
        client.pages = Pages::sign_in(client.world, node, client.key);
    }
    client.pages.clone()
}

/// Sends a form once. `None` if it is not known what it did, because something fails.
fn submit(
    client: &mut Client<'_>,
    before: Moment,
    path: &str,
    fields: &[(&str, &str)],
) -> Option<String> {
    let pages = pages(client)?;
    let node = client.node();
    let sent = pages.submit(client.world, node, path, fields);
    if let Some((303, location)) = sent {
        return Some(location);
    }
    if client.world.peaceful_since(before) {
        client.world.find(
            "a form of the dashboard is accepted",
            format!("{path} {fields:?} of {}: {sent:?}", pages.project),
        );
    }
    None
}

/// A permanent inbox stays, and cannot be deleted with a key.
pub(super) fn a_permanent_inbox(client: &mut Client<'_>) {
    let number = client.token();
    let before = client.world.moment();
    let name = format!("kept-{}-{number}", client.number);
    if submit(
        client,
        before,
        "/inboxes",
        &[("kind", "permanent"), ("name", &name)],
    )
    .is_none()
    {
        return;
    }
    let inbox = Inbox {
        life: None,
        ..Inbox::new(name.clone(), format!("{name}{DOMAIN}"), Instant::now())
    };
    client.inboxes.push(inbox);
    client.world.count("permanent inboxes");
    let index = client.inboxes.len() - 1;
    let token = client.token();
    client.mail(token, &[index]);
    let deletion = Request::delete("/v1/inboxes/{id}", format!("/v1/inboxes/{name}"));
    if let Some(answer) = client
        .until_answered(&deletion)
        .filter(|answer| answer.status != 403)
    {
        client
            .world
            .find("a permanent inbox is kept", format!("{name}: {answer:?}"));
    }
}

/// An inbox with mail is deleted or emptied, and nothing of it is found afterwards.
pub(super) fn and_deleting(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let token = client.token();
    let before = client.world.moment();
    client.mail(token, &[inbox]);
    let id = client.inboxes[inbox].id.clone();
    let whole = client.chance(50);
    let what = if whole { "delete" } else { "empty" };
    let path = format!("/inboxes/{id}/{what}");
    let is_deleted = submit(client, before, &path, &[]).is_some();
    let listed = client.list(inbox);
    if is_deleted && listed.is_some_and(|listed| whole || !listed.is_empty()) {
        client
            .world
            .find("what was deleted is not found", format!("{path}: {id}"));
    }
    client.world.count("deletions in the dashboard");
    // Its mail is not looked for at the end.
    let lost = client.inboxes.swap_remove(inbox);
    client.lost.push(lost.address);
}

/// The page of an inbox is notified of new mail, also of mail that another node receives.
pub(super) fn an_open_page(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let before = client.world.moment();
    let Some(pages) = pages(client) else { return };
    let node = client.node();
    let token = client.token();
    let id = client.inboxes[inbox].id.clone();
    let Some(events) = pages.follow(client.world, node, &id) else {
        if client.world.peaceful_since(before) {
            client
                .world
                .find("the page of an inbox can be followed", id);
        }
        return;
    };
    if events.recv_timeout(SOON).is_err() || client.mail(token, &[inbox]) != Outcome::Accepted {
        return;
    }
    let told = events.recv_timeout(SOON);
    if told.is_err() && client.world.peaceful_since(before) {
        client.world.find(
            "an open page is notified of new mail",
            format!("message {token} of {id}: {told:?}"),
        );
    }
    client.world.count("open pages");
}
