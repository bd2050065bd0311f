//! MCP with the official clients, the Python SDK and the inspector, which `./test` fetches;
//! `tests/mcp` says what they do.

use std::process::Command;

use testkit::http;
use testkit::server::{Server, first_start, printed};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A suite of `tests/mcp`, as the user of a server runs it.
fn suite(name: &str, server: &Server, key: &str) -> Command {
    let mut python = Command::new(format!("{ROOT}/target/mcp-sdk/bin/python"));
    python.args(["-B", &format!("{ROOT}/tests/mcp/{name}.py")]);
    python
        .env("RESTANTE_URL", &server.url)
        .env("RESTANTE_API_KEY", key);
    python.env("RESTANTE_PROGRAM", env!("CARGO_BIN_EXE_restante"));
    python.env("SMTP_PORT", server.smtp.rsplit(':').next().unwrap());
    python.env(
        "MCP_INSPECTOR",
        format!("{ROOT}/target/mcp-inspector/node_modules/.bin/mcp-inspector"),
    );
    python
}

#[test]
fn the_python_sdk_uses_every_tool_over_both_transports() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--waits-per-key", "1"]);
    let key = server.made_key().unwrap().to_owned();
    let said = printed(&mut suite("python_sdk", &server, &key));
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn the_inspector_uses_the_tools_over_both_transports() {
    let (_data_dir, server, key) = first_start();
    let said = printed(&mut suite("inspector", &server, &key));
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn an_installation_can_do_without_mcp() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--mcp", "off"]);
    let answer = http::post(format!("{}/mcp", server.url)).call();
    assert!(
        matches!(answer, Err(http::Error::Status(404))),
        "{answer:?}"
    );
}
