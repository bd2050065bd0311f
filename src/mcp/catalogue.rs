//! The tools as clients see them: name, description, schemas and hints.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::output::Foreign;
use super::{input, output, schema};

/// The effect of a tool, as stated in its annotations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It changes nothing.
    Reads,
    /// It changes nothing, but may query other servers.
    Queries,
    /// It adds something.
    Adds,
    /// It may send mail to other servers.
    Sends,
    /// It removes or replaces something; repeating it has no further effect.
    Removes,
}

static TOOLS: LazyLock<Vec<Value>> =
    LazyLock::new(|| [inbox_tools(), message_tools(), sending_tools()].concat());

/// Every tool.
pub(super) fn tools() -> &'static [Value] {
    &TOOLS
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter_map(|tool| tool["name"].as_str())
}

/// The schema of the arguments of a tool.
pub(super) fn input_schema(name: &str) -> &'static Value {
    let tool = TOOLS.iter().find(|tool| tool["name"] == name);
    &tool.expect("the tool is one of the catalogue")["inputSchema"]
}

/// How the application reaches an inbox.
fn inbox_tools() -> Vec<Value> {
    vec![
        tool::<input::Nothing, output::Setup>(
            "setup",
            "How to send mail to this server",
            "How the application under test sends mail to this server: SMTP host, port and TLS, the mail domain, and \
             the settings of common frameworks.",
            Effect::Reads,
        ),
        tool::<input::CreateInbox, restante_api::Inbox>(
            "create_inbox",
            "Create an inbox",
            "Creates a temporary inbox with a new address; use one for each test. With `address`, it gets that inbox.",
            Effect::Adds,
        ),
        tool::<input::InboxName, output::Deleted>(
            "delete_inbox",
            "Delete an inbox",
            "Deletes an inbox with its messages. Temporary inboxes also expire.",
            Effect::Removes,
        ),
        tool::<input::SetFaults, restante_api::FaultList>(
            "set_faults",
            "Make mail fail",
            "Injects SMTP faults for mail to one inbox, to test how the application retries, handles a \
             bounce or a slow server. Replaces the faults of the inbox: they are used in order, each `times` \
             times, then mail is accepted again. An empty list clears them. get_faults returns when they were used.",
            Effect::Removes,
        ),
        tool::<input::InboxName, restante_api::FaultList>(
            "get_faults",
            "Uses of the faults",
            "Returns the faults of an inbox, how often each can still be used, and when it was used.",
            Effect::Reads,
        ),
    ]
}

/// Messages, and why one is missing.
fn message_tools() -> Vec<Value> {
    vec![
        tool::<input::Wait, output::Waited>(
            "wait_for_message",
            "Wait for a message",
            "Waits until a message that matches the filters is in the inbox, and returns the oldest one with its text, \
             links and one-time code. Call it after the application was made to send, or before: a message that is \
             already there is returned immediately. If none arrives in time, the result explains why.",
            Effect::Reads,
        ),
        tool::<input::List, Foreign<output::Messages>>(
            "list_messages",
            "List messages",
            "Lists the messages of an inbox, newest first, without their text.",
            Effect::Reads,
        ),
        tool::<input::Search, Foreign<output::Messages>>(
            "search_messages",
            "Search all inboxes",
            "Searches the messages of all inboxes of the project, newest first.",
            Effect::Reads,
        ),
        tool::<input::GetMessage, Foreign<output::Message>>(
            "get_message",
            "Read a message",
            "Returns a message with its text, links, one-time code and list of attachments; its HTML only on request. \
             Long text is cut, and the result describes how to read the rest.",
            Effect::Reads,
        ),
        tool::<input::GetAttachment, Foreign<output::Attachment>>(
            "get_attachment",
            "Read an attachment",
            "Returns an attachment of a message as text, or as base64 if it is not text; up to 1 MiB.",
            Effect::Reads,
        ),
        tool::<input::CheckMessage, Foreign<restante_api::MessageChecks>>(
            "check_message",
            "Check a message",
            "Finds placeholders, dead links, missing parts, unsupported HTML; with `dns`, also SPF, DKIM and DMARC.",
            Effect::Queries,
        ),
        tool::<input::Explain, Foreign<restante_api::Explanation>>(
            "explain_missing",
            "Explain a missing message",
            "Explains why no matching message is in the inbox: what arrived instead, what was rejected \
             over SMTP and why, similar addresses that received mail, and whether any client connects over SMTP.",
            Effect::Reads,
        ),
    ]
}

/// Sending from an inbox.
fn sending_tools() -> Vec<Value> {
    vec![
        tool::<input::Send, restante_api::SendAccepted>(
            "send_message",
            "Send a message",
            "Sends a message from an inbox, for example a reply to the application. To another inbox it arrives \
             immediately; to any other address it is queued and sent over SMTP, unless sending is turned off.",
            Effect::Sends,
        ),
        tool::<input::GetOutgoing, Foreign<restante_api::Outgoing>>(
            "get_outgoing",
            "Status of a sent message",
            "Returns whether a message of send_message was delivered, and every attempt with the reply of the server.",
            Effect::Reads,
        ),
    ]
}

fn tool<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
) -> Value {
    let reads = matches!(effect, Effect::Reads | Effect::Queries);
    let open = matches!(effect, Effect::Sends | Effect::Queries);
    let mut hints = json!({"readOnlyHint": reads, "openWorldHint": open});
    if !reads {
        // These have a meaning only for a tool that changes something.
        let removes = effect == Effect::Removes;
        hints["destructiveHint"] = json!(removes);
        hints["idempotentHint"] = json!(removes);
    }
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema::input::<I>(),
        "outputSchema": schema::output::<O>(),
        "annotations": hints,
    })
}
