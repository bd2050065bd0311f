//! `restante outgoing`, with a running server and without one.

use std::path::Path;
use std::process::Command;

use restante::model::OutgoingId;

use testkit::http;
use testkit::server::{Server, command, failed, printed, serve};

const KEY: &str = "rst_live_0123456789abcdef";

fn outgoing<'a>(data_dir: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = command(["outgoing"]);
    command.args(arguments).arg("--data-dir").arg(data_dir);
    command
}

/// Sends from a new inbox to another domain, and returns the inbox's address.
fn send(server: &Server) -> String {
    let address = server.run_cli(KEY, ["inbox", "create"]);
    let inbox = address.split('@').next().unwrap();
    let request = http::post(format!("{}/v1/inboxes/{inbox}/messages", server.url));
    let request = request.header("Authorization", format!("Bearer {KEY}"));
    let answer = request
        .send(r#"{"to":"a@shop.example","subject":"Welcome"}"#)
        .unwrap();
    assert_eq!(answer.status(), 202);
    address
}

/// The id of the only item.
fn only_item(data_dir: &Path) -> String {
    let list = printed(&mut outgoing(data_dir, ["list"]));
    let [_, item] = list.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(item.ends_with("a@shop.example"), "{item}");
    item.split(' ').next().unwrap().to_owned()
}

#[test]
fn what_was_sent_is_listed_shown_and_managed() {
    let data_dir = tempfile::tempdir().unwrap();
    // Nothing listens there, so the item waits.
    let relay = ["--api-key", KEY, "--relay", "smtp://127.0.0.1:1"];
    let server = Server::spawn(serve(data_dir.path()).args(relay));
    send(&server);
    let id = only_item(data_dir.path());
    server.signal("TERM");
    assert!(server.wait().success());

    let shown = printed(&mut outgoing(data_dir.path(), ["show", &id]));
    assert!(
        shown.contains("Status:       queued\n") && shown.contains("Subject:      Welcome\n"),
        "{shown}"
    );
    printed(&mut outgoing(data_dir.path(), ["cancel", &id]));
    assert!(
        printed(&mut outgoing(
            data_dir.path(),
            ["list", "--status", "cancelled"]
        ))
        .contains(&id)
    );
    let (code, error) = failed(&mut outgoing(data_dir.path(), ["cancel", &id]));
    assert!(
        code == 1 && error.contains("is already cancelled"),
        "{code}: {error}"
    );
    printed(&mut outgoing(data_dir.path(), ["retry", &id]));
    assert!(
        printed(&mut outgoing(
            data_dir.path(),
            ["list", "--status", "queued"]
        ))
        .contains(&id)
    );
}

#[test]
fn with_outbound_off_a_bounce_arrives_immediately() {
    let data_dir = tempfile::tempdir().unwrap();
    let server =
        Server::spawn(serve(data_dir.path()).args(["--api-key", KEY, "--outbound", "off"]));
    let address = send(&server);
    let bounce = server.run_cli(
        KEY,
        ["wait", &address, "--subject", "Undelivered Mail: Welcome"],
    );
    assert!(bounce.contains("switched off"), "{bounce}");
    let shown = printed(&mut outgoing(
        data_dir.path(),
        ["show", &only_item(data_dir.path())],
    ));
    assert!(shown.contains("Status:       failed\n"), "{shown}");
}

#[test]
fn an_unknown_id_and_an_invalid_one_have_different_errors() {
    let data_dir = tempfile::tempdir().unwrap();
    let id = OutgoingId::generate().to_string();
    let (code, error) = failed(&mut outgoing(data_dir.path(), ["show", &id]));
    assert!(
        code == 1 && error.contains("no database at"),
        "{code}: {error}"
    );
    let server = Server::start(data_dir.path(), &[]);
    let (code, error) = failed(&mut outgoing(data_dir.path(), ["show", &id]));
    assert!(
        code == 1 && error.contains("there is no outgoing item"),
        "{code}: {error}"
    );
    let (code, _) = failed(&mut outgoing(data_dir.path(), ["show", "1"]));
    assert_eq!(code, 2);
    drop(server);
}

#[test]
fn a_key_that_cannot_sign_stops_the_start() {
    let data_dir = tempfile::tempdir().unwrap();
    let key = data_dir.path().join("absent.pem");
    let flags = ["--dkim-key", key.to_str().unwrap(), "--dkim-selector", "s"];
    let (code, error) = failed(serve(data_dir.path()).args(flags));
    assert!(
        code == 1 && error.contains("cannot read the DKIM key"),
        "{code}: {error}"
    );
}
