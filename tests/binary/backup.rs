//! `restante backup`, with a running server and without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use testkit::server::{Server, command, failed, first_start};
use testkit::smtp::{Smtp, deliver};

fn backup(data_dir: &Path, target: &Path) -> Command {
    let mut backup = command(["backup"]);
    backup.arg(target).arg("--data-dir").arg(data_dir);
    backup
}

#[test]
fn a_backup_under_load_is_whole_and_has_what_was_there() {
    let (data_dir, server, key) = first_start();
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("copy.db");
    // Enough pages for several steps.
    let large = format!("{}\r\n", "x".repeat(70)).repeat(20);
    for number in 0..50 {
        let noise = format!("{:x}{:x}", rand::random::<u128>(), rand::random::<u128>());
        deliver(
            &server.smtp,
            "before@restante.example.com",
            &number.to_string(),
            &format!("{noise}\r\n{large}"),
        );
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut smtp = Smtp::connect(&server.smtp).unwrap();
                while !done.load(Ordering::Relaxed) {
                    assert!(
                        smtp.send("during@restante.example.com", "load", "text")
                            .unwrap()
                            .starts_with("250")
                    );
                }
            });
        }
        let output = backup(data_dir.path(), &target).output();
        done.store(true, Ordering::Relaxed);
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
    });

    assert_eq!(
        target.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    let files: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["copy.db"]);
    let restored = Server::start(
        place.path(),
        &["--database", &format!("sqlite:{}", target.display())],
    );
    assert_eq!(
        restored
            .run_cli(&key, ["messages", "before"])
            .lines()
            .count(),
        50
    );
    restored.kill();
    let whole = rusqlite::Connection::open(&target).unwrap();
    let whole = whole.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(whole.unwrap(), "ok");
}

#[test]
fn a_file_that_exists_is_left_alone() {
    let (data_dir, _server, _key) = first_start();
    let target = tempfile::NamedTempFile::new().unwrap();
    fs::write(target.path(), "kept").unwrap();
    let (code, said) = failed(&mut backup(data_dir.path(), target.path()));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("already exists"), "{said}");
    assert_eq!(fs::read_to_string(target.path()).unwrap(), "kept");
}

#[test]
fn a_failed_copy_is_reported_and_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("copy.db");
    let (code, said) = failed(&mut backup(&place.path().join("mistyped"), &target));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no database"), "{said}");
    fs::write(
        place.path().join("restante.db"),
        "this is no database, however long it is",
    )
    .unwrap();
    let (code, said) = failed(&mut backup(place.path(), &target));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("not a database"), "{said}");
    let mut postgres = backup(place.path(), &target);
    let (code, said) =
        failed(postgres.args(["--database", "postgres://restante@127.0.0.1:1/restante"]));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("pg_dump"), "{said}");
    assert!(!target.exists());
}
