//! Test helpers for Mailpit, which `./test` fetches, use the program; `tests/mailpit` says what
//! they do.

use std::process::Command;

use tempfile::tempdir;
use testkit::server::{Server, printed};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const FLAGS: [&str; 6] = [
    "--mailpit-api",
    "open",
    "--accept-domains",
    "*",
    "--mailpit-listen",
    "127.0.0.1:0",
];

#[test]
fn the_helper_for_node_finds_its_messages() {
    let data_dir = tempdir().unwrap();
    let server = Server::start(data_dir.path(), &FLAGS);
    let mut node = Command::new("node");
    node.arg(format!("{ROOT}/tests/mailpit/helper.mjs")).env(
        "HELPERS",
        format!("{ROOT}/target/mailpit-node/node_modules"),
    );
    let said = printed(
        node.env("MAILPIT_URL", server.address("Mailpit"))
            .env("RESTANTE_API_KEY", server.made_key().unwrap()),
    );
    assert!(said.ends_with("passed"), "{said}");
}

#[test]
fn the_helpers_for_python_find_their_messages() {
    let data_dir = tempdir().unwrap();
    let server = Server::start(data_dir.path(), &FLAGS);
    let mut python = Command::new(format!("{ROOT}/target/mailpit-python/bin/python"));
    python.args([
        "-B",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
    ]);
    python
        .arg(format!("{ROOT}/tests/mailpit/test_helpers.py"))
        .args(["-c", "/dev/null", "--rootdir", ROOT]);
    let said = printed(
        python
            .env("MAILPIT_URL", format!("{}/mailpit/", server.url))
            .env("MAILPIT_SMTP", &server.smtp),
    );
    assert!(said.contains("3 passed"), "{said}");
}
