//! A full disk: clients get a temporary error, messages can be read, and receiving recovers
//! automatically.
//!
//! A limit on the size of files simulates the full disk: writes beyond it fail. It can be removed
//! while the server runs.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::eventually;
use testkit::http;
use testkit::server::{Server, command, serve};
use testkit::smtp::Smtp;

/// In blocks of 512 bytes, as `ulimit` counts: 2 MiB.
const DISK: &str = "4096";
/// The time within which receiving must work again.
const RECOVERY: Duration = Duration::from_secs(30);

/// The server with a limit on its files. It ignores the signal, so that writes beyond the limit
/// return errors.
fn limited(data_dir: &Path) -> Server {
    let serve = serve(data_dir);
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        &format!("trap '' XFSZ; ulimit -S -f {DISK}; exec \"$@\""),
        "sh",
    ]);
    shell.arg(serve.get_program()).args(serve.get_args());
    shell
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("RESTANTE_LOG", "off");
    Server::spawn(&mut shell)
}

/// The server on a disk of 24 MiB, which only it sees; `None` if this machine allows no such disk.
fn on_small_disk(data_dir: &Path) -> Option<Server> {
    let script = "mount -t tmpfs -o size=24m tmpfs \"$0\" && exec \"$@\"";
    let may_mount = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(data_dir)
        .arg("true")
        .status();
    if !may_mount.is_ok_and(|status| status.success()) {
        return None;
    }
    let serve = serve(data_dir);
    let mut unshare = Command::new("unshare");
    unshare.args(["-rm", "sh", "-c", script]).arg(data_dir);
    unshare.arg(serve.get_program()).args(serve.get_args());
    unshare.env("RESTANTE_LOG", "off");
    Some(Server::spawn(&mut unshare))
}

#[test]
fn on_a_full_disk_messages_can_be_deleted_and_a_person_can_sign_in() {
    let data_dir = tempfile::tempdir().unwrap();
    let Some(server) = on_small_disk(data_dir.path()) else {
        println!("not tested: this machine allows no mount");
        return;
    };
    let key = server.made_key().unwrap().to_owned();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let (inbox, _) = address.trim().split_once('@').unwrap();
    // The disk as the server sees it.
    let disk = format!("/proc/{}/root{}", server.id(), data_dir.path().display());
    let reserve = Path::new(&disk).join("restante.db.reserve");
    eventually("there is a reserve", || reserve.exists());
    let mut fill = std::fs::File::create(format!("{disk}/fill")).unwrap();
    while fill.write_all(&[0; 4096]).is_ok() {}
    eventually("the reserve is free", || !reserve.exists());

    let sign_in = http::post(format!("{}/sign-in", server.url))
        .header("origin", &server.url)
        .send_form(&[("secret", &key)]);
    assert_eq!(sign_in.unwrap().status(), 303);
    let deleted = http::delete(format!("{}/v1/inboxes/{inbox}", server.url))
        .header("x-api-key", &key)
        .call();
    assert_eq!(deleted.unwrap().status(), 204);
}

/// Text that does not compress well.
fn text(number: usize) -> String {
    let mut state = number as u64 + 1;
    let words = (0..4_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    });
    words
        .collect::<Vec<_>>()
        .chunks(4)
        .map(<[String]>::concat)
        .collect::<Vec<_>>()
        .join("\r\n")
}

#[test]
fn a_full_disk_refuses_for_now_and_recovers_by_itself() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = limited(data_dir.path());
    let key = server.made_key().unwrap().to_owned();
    let address = server.run_cli(&key, ["inbox", "create"]);
    let mut client = Smtp::connect(&server.smtp).unwrap();
    let mut send = |number: usize| {
        client
            .send(&address, &number.to_string(), &text(number))
            .unwrap()
    };

    let replies: Vec<String> = (0..100)
        .map(&mut send)
        .take_while(|reply| reply.starts_with("250"))
        .collect();
    assert!(
        (1..100).contains(&replies.len()),
        "{} messages fit into 2 MiB",
        replies.len()
    );
    let refused = send(1_000);
    assert!(refused.starts_with("45"), "{refused}");
    let listed = server.run_cli(&key, ["messages", &address]);
    assert_eq!(
        listed.lines().count(),
        replies.len(),
        "reading goes on, and nothing refused is there"
    );

    server.lift_file_limit();
    let lifted = Instant::now();
    while !send(2_000).starts_with("250") {
        assert!(lifted.elapsed() < RECOVERY, "receiving does not recover");
    }
    let listed = server.run_cli(&key, ["messages", &address]);
    assert_eq!(listed.lines().count(), replies.len() + 1);
    drop(server);
    let server = Server::start(data_dir.path(), &[]);
    assert_eq!(
        server.run_cli(&key, ["messages", &address]).lines().count(),
        replies.len() + 1
    );
    assert!(
        command(["project", "list", "--data-dir"])
            .arg(data_dir.path())
            .status()
            .unwrap()
            .success()
    );
}
