//! The protocol of `/mcp`: what each message gets. The tools and whole sessions are tested with the
//! official clients.

use serde_json::{Value, json};
use testkit::Harness;

use super::bodies::mcp_request;

const NEW: &str = "2026-07-28";

/// A request without a handshake before it.
fn without_handshake(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params})
}

/// A message, headers, the status, and a value of the answer with its place.
type Case = (
    String,
    Vec<(&'static str, &'static str)>,
    u16,
    &'static str,
    Value,
);

#[tokio::test]
async fn each_message_has_its_answer() {
    let api = Harness::start().await;
    let version = ("mcp-protocol-version", NEW);
    let call = json!({"name": "create_inbox"});
    let meta_of_other_revision = json!({"name": "create_inbox", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
    }});
    let cases: Vec<Case> = vec![
        (
            request("initialize", &json!({"protocolVersion": "2025-06-18"})).to_string(),
            vec![],
            200,
            "/result/protocolVersion",
            json!("2025-06-18"),
        ),
        (
            request("initialize", &json!({"protocolVersion": "2031-01-01"})).to_string(),
            vec![],
            200,
            "/result/protocolVersion",
            json!("2025-11-25"),
        ),
        (
            request("ping", &Value::Null).to_string(),
            vec![("mcp-protocol-version", "2025-11-25")],
            200,
            "",
            json!({"jsonrpc": "2.0", "id": "a", "result": {}}),
        ),
        (
            request("ping", &json!({})).to_string(),
            vec![("mcp-protocol-version", "2031-01-01")],
            400,
            "/error/code",
            json!(-32022),
        ),
        (
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
            vec![],
            202,
            "",
            Value::Null,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
            vec![],
            400,
            "/error/code",
            json!(-32600),
        ),
        (
            "{broken".to_owned(),
            vec![],
            400,
            "/error/code",
            json!(-32700),
        ),
        (
            format!("[{}0]", "0,".repeat(10_000)),
            vec![],
            400,
            "/error/code",
            json!(-32600),
        ),
        (
            request("prompts/list", &json!({})).to_string(),
            vec![],
            200,
            "/error/code",
            json!(-32601),
        ),
        (
            request(
                "tools/call",
                &json!({"name": "create_inbox", "arguments": [1]}),
            )
            .to_string(),
            vec![],
            200,
            "/error/code",
            json!(-32602),
        ),
        (
            request("tools/call", &json!({"name": "unknown"})).to_string(),
            vec![],
            200,
            "/error/code",
            json!(-32602),
        ),
        (
            request("tools/call", &call).to_string(),
            vec![],
            200,
            "/result/isError",
            json!(false),
        ),
        (
            request("tools/call", &call).to_string(),
            vec![],
            200,
            "/result/resultType",
            Value::Null,
        ),
        (
            without_handshake("tools/call", call.clone()).to_string(),
            vec![
                version,
                ("mcp-method", "tools/call"),
                ("mcp-name", "create_inbox"),
            ],
            200,
            "/result/resultType",
            json!("complete"),
        ),
        (
            without_handshake("tools/call", call.clone()).to_string(),
            // `create_inbox` in base64.
            vec![
                version,
                ("mcp-method", "tools/call"),
                ("mcp-name", "=?base64?Y3JlYXRlX2luYm94?="),
            ],
            200,
            "/result/isError",
            json!(false),
        ),
        (
            without_handshake("tools/call", call.clone()).to_string(),
            vec![
                version,
                ("mcp-method", "tools/call"),
                ("mcp-name", "delete_inbox"),
            ],
            400,
            "/error/code",
            json!(-32020),
        ),
        (
            without_handshake("tools/call", call.clone()).to_string(),
            vec![
                version,
                ("mcp-method", "ping"),
                ("mcp-name", "create_inbox"),
            ],
            400,
            "/error/code",
            json!(-32020),
        ),
        (
            without_handshake("tools/call", call).to_string(),
            vec![],
            400,
            "/error/code",
            json!(-32020),
        ),
        (
            request("tools/call", &meta_of_other_revision).to_string(),
            vec![
                ("mcp-protocol-version", "2031-01-01"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "create_inbox"),
            ],
            400,
            "/error/data/requested",
            json!("2031-01-01"),
        ),
        (
            without_handshake("server/discover", json!({})).to_string(),
            vec![version, ("mcp-method", "server/discover")],
            200,
            "/result/supportedVersions/4",
            json!(NEW),
        ),
        (
            without_handshake("ping", json!({})).to_string(),
            vec![version, ("mcp-method", "ping")],
            404,
            "/error/code",
            json!(-32601),
        ),
        (
            request("tools/list", &json!({})).to_string(),
            vec![version, ("mcp-method", "tools/list")],
            400,
            "/error/code",
            json!(-32602),
        ),
    ];
    for (body, headers, status, pointer, expected) in cases {
        let answer = api.send(mcp_request(&api.key, &body, &headers)).await;
        assert_eq!(answer.status, status, "{body:.200} {headers:?}");
        let answer = if status == 202 {
            Value::Null
        } else {
            answer.json()
        };
        let value = answer.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(value, expected, "{body:.200} {headers:?}: {answer}");
    }
}
