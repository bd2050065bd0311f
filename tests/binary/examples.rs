//! Runs each example unchanged, against its own server. `./test` installs what the examples need.

use std::process::Command;

use testkit::server::{Server, first_start, printed};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

/// A command with the server's addresses in its environment, as a user would set them.
fn example(program: &str, server: &Server, key: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("RESTANTE_URL", &server.url)
        .env("RESTANTE_API_KEY", key)
        .env("RESTANTE_SMTP", &server.smtp);
    command
}

#[test]
fn the_shell_script_prints_the_code() {
    let (_data_dir, server, key) = first_start();
    let mut script = example(&format!("{EXAMPLES}/first-message.sh"), &server, &key);
    assert_eq!(printed(&mut script), "482913");
}
