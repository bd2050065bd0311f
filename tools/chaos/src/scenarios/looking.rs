//! Reads: everything about an inbox and a message, and the search.

use serde_json::json;

use crate::client::Client;
use crate::http::Request;
use crate::mail::Outcome;

/// Every reading request, also over MCP. Each answer is judged by its status.
pub(super) fn at_everything(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let id = client.inboxes[inbox].id.clone();
    let path = |end: &str| format!("/v1/inboxes/{id}{end}");
    let tool = json!({"name": "list_messages", "arguments": {"inbox": id}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool});
    let requests = [
        Request::get("/v1/inboxes/{id}", path("")),
        Request::get("/v1/inboxes/{id}/explain", path("/explain?subject=missing")),
        Request::get("/v1/inboxes/{id}/faults", path("/faults")),
        Request::get("/v1/project/inboxes", "/v1/project/inboxes?limit=5"),
        Request::get("/v1/project/messages", "/v1/project/messages?limit=5"),
        Request::post("/mcp", "/mcp", call),
    ];
    for request in requests {
        let answer = client.until_answered(&request);
        if let Some(answer) = answer.filter(|answer| answer.status != 200) {
            client.world.find(
                "an own inbox can be read",
                format!("{request:?}: {answer:?}"),
            );
        }
    }
}

/// A search finds what was acknowledged.
pub(super) fn for_a_message(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let token = client.token();
    if client.mail(token, &[inbox]) != Outcome::Accepted {
        return;
    }
    let search = client.subject(token).replace(' ', "%20");
    let mut before = String::new();
    loop {
        let path = format!("/v1/project/messages?search={search}{before}");
        let Some(answer) = client.until_answered(&Request::get("/v1/project/messages", path))
        else {
            return;
        };
        if answer.body["messages"]
            .as_array()
            .is_some_and(|messages| !messages.is_empty())
        {
            return;
        }
        match answer.body["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => {
                return client.world.find(
                    "a search finds acknowledged mail",
                    format!("message {token}: {answer:?}"),
                );
            }
        }
    }
}

/// Explain names the cause: nothing of what arrived matches, it arrived, or the inbox is gone.
pub(super) fn for_the_cause(client: &mut Client<'_>) {
    let Some(inbox) = client.create() else { return };
    let token = client.token();
    if client.mail(token, &[inbox]) != Outcome::Accepted {
        return;
    }
    let id = client.inboxes[inbox].id.clone();
    let subject = client.subject(token).replace(' ', "%20");
    explains(client, &id, "subject=nobody", "filter_missed");
    explains(client, &id, &format!("subject={subject}"), "arrived");
    if client
        .until_answered(&Request::delete(
            "/v1/inboxes/{id}",
            format!("/v1/inboxes/{id}"),
        ))
        .is_some()
    {
        client.inboxes[inbox].deleted = true;
        explains(client, &id, "", "inbox_deleted");
    }
}

fn explains(client: &mut Client<'_>, id: &str, filter: &str, cause: &str) {
    let path = format!("/v1/inboxes/{id}/explain?{filter}");
    let Some(answer) = client.until_answered(&Request::get("/v1/inboxes/{id}/explain", path))
    else {
        return;
    };
    if answer.status != 200 || answer.body["cause"] != cause {
        client.world.find(
            "explain names the cause",
            format!("{filter}: {cause}: {answer:?}"),
        );
    }
}
