//! The SDKs of mail providers, which `./test` fetches, send to the program; `tests/senders` says what they do.

use std::process::Command;

use testkit::server::{first_start, printed};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_sdks_for_node_send() {
    let (_data_dir, server, key) = first_start();
    let mut node = Command::new("node");
    node.arg(format!("{ROOT}/tests/senders/node.mjs")).env("SDKS", format!("{ROOT}/target/senders-node/node_modules"));
    let said = printed(node.env("RESTANTE_URL", &server.url).env("RESTANTE_API_KEY", key));
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn the_sdks_for_python_send() {
    let (_data_dir, server, key) = first_start();
    let mut python = Command::new(format!("{ROOT}/target/senders-python/bin/python"));
    python.args(["-B", &format!("{ROOT}/tests/senders/python_sdks.py")]);
    let said = printed(python.env("RESTANTE_URL", &server.url).env("RESTANTE_API_KEY", key));
    assert!(said.ends_with("passed"), "{said}");
}
