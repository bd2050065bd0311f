//! The examples run as they are, each against a server of its own. `./test` fetches what they need.

use std::process::Command;

use testkit::port::ReservedPort;
use testkit::server::{Server, first_start, printed};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

/// A command that is told where the server is, as a user would set it.
fn example(program: &str, server: &Server, key: &str) -> Command {
    let mut command = Command::new(program);
    let smtp_port = server.smtp.rsplit(':').next().unwrap();
    command.env("RESTANTE_URL", &server.url).env("RESTANTE_API_KEY", key).env("SMTP_PORT", smtp_port);
    command
}

#[test]
fn the_shell_script_prints_the_code() {
    let (_data_dir, server, key) = first_start();
    let mut script = example(&format!("{EXAMPLES}/first-message.sh"), &server, &key);
    assert_eq!(printed(&mut script), "482913");
}

#[test]
fn the_playwright_test_passes() {
    let (data_dir, server, key) = first_start();
    let port = ReservedPort::new();
    let mut playwright = example("npx", &server, &key);
    playwright.args(["--no-install", "playwright", "test", "--output"]).arg(data_dir.path().join("results"));
    playwright.env("CHROMIUM", "/usr/bin/chromium").env("APPLICATION_PORT", port.number().to_string());
    let output = printed(playwright.current_dir(format!("{EXAMPLES}/playwright")));
    assert!(output.contains("1 passed"), "{output}");
}
