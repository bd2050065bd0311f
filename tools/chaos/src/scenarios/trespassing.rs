//! Attempts on the inboxes of another project: each is answered as if they did not exist.

use std::time::Duration;

use rand::seq::IndexedRandom;
use serde_json::json;

use super::waiting;
use crate::client::Client;
use crate::http::Request;

pub(super) fn in_another_project(client: &mut Client<'_>) {
    let foreign: Vec<String> = {
        let all = client.world.foreign.lock().unwrap();
        all.iter().filter(|(owner, _)| *owner != client.number).map(|(_, id)| id.clone()).collect()
    };
    let Some(id) = foreign.choose(&mut client.random) else { return };
    let path = |end: &str| format!("/v1/inboxes/{id}{end}");
    let requests = [
        Request::get("/v1/inboxes/{id}", path("")),
        Request::get("/v1/inboxes/{id}/messages", path("/messages")),
        Request::get("/v1/inboxes/{id}/explain", path("/explain")),
        Request::delete("/v1/inboxes/{id}", path("")),
        Request::put("/v1/inboxes/{id}/faults", path("/faults"), json!({"faults": []})),
        waiting::request(id, "", Duration::from_millis(100)),
    ];
    let request = requests.choose(&mut client.random).expect("there are some").clone();
    if let Some(answer) = client.until_answered(&request).filter(|answer| answer.status != 404) {
        client.world.find("another project's inbox is not found", format!("{request:?}: {answer:?}"));
    }
}
