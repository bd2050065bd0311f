//! Attempts on the inboxes of another project: each is answered as if they did not exist, and mail
//! to an address that still belongs to another project is rejected.

use std::time::Duration;

use rand::seq::IndexedRandom;
use serde_json::json;

use super::waiting;
use crate::client::{CODE, Client};
use crate::http::Request;
use crate::journal::DOMAIN;
use crate::mail::{Mail, Outcome, send};

pub(super) fn in_another_project(client: &mut Client<'_>) {
    let foreign: Vec<String> = {
        let all = client.world.foreign.lock().unwrap();
        all.iter()
            .filter(|(owner, _)| *owner != client.number)
            .map(|(_, id)| id.clone())
            .collect()
    };
    let Some(id) = foreign.choose(&mut client.random) else {
        return;
    };
    let path = |end: &str| format!("/v1/inboxes/{id}{end}");
    let requests = [
        Request::get("/v1/inboxes/{id}", path("")),
        Request::get("/v1/inboxes/{id}/messages", path("/messages")),
        Request::get("/v1/inboxes/{id}/explain", path("/explain")),
        Request::delete("/v1/inboxes/{id}", path("")),
        Request::put(
            "/v1/inboxes/{id}/faults",
            path("/faults"),
            json!({"faults": []}),
        ),
        waiting::request(id, "", Duration::from_millis(100)),
    ];
    let request = requests
        .choose(&mut client.random)
        .expect("there are some")
        .clone();
    if let Some(answer) = client
        .until_answered(&request)
        .filter(|answer| answer.status != 404)
    {
        client.world.find(
            "another project's inbox is not found",
            format!("{request:?}: {answer:?}"),
        );
    }
}

/// An inbox ends, and another project mails its address with a tag: the address still belongs to
/// the first one.
pub(super) fn with_a_tag(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    if !client.inboxes[inbox].address.ends_with(DOMAIN) {
        return;
    }
    let deletion = Request::delete(
        "/v1/inboxes/{id}",
        format!("/v1/inboxes/{}", client.inboxes[inbox].id),
    );
    if client.until_answered(&deletion).is_none() {
        return;
    }
    client.inboxes[inbox].deleted = true;
    let node = client.node();
    let keys = &client.world.keys;
    let Some(address) = client.world.nodes.with(node, |server| server.smtp.clone()) else {
        return;
    };
    let recipients = [client.inboxes[inbox].address.replacen('@', "+tag@", 1)];
    let token = client.token();
    let subject = client.subject(token);
    let key = &keys[(client.number + 1) % keys.len()];
    let mail = Mail {
        recipients: &recipients,
        subject: &subject,
        text: CODE,
        key: Some(key),
    };
    if send(&address, &mail) == Outcome::Accepted {
        client.world.find(
            "an address with a tag belongs to the owner of the address",
            format!("{recipients:?}"),
        );
    }
    client.world.count("addresses of another project");
}
