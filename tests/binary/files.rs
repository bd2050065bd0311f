//! The files of a data directory: their permissions, and the lock that allows only one server.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::failure::failed_serve;
use testkit::server::{Server, failed, first_start, serve};
use testkit::smtp::deliver;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn every_file_is_readable_by_its_owner_only_with_any_umask_and_directory() {
    let data_dir = tempfile::tempdir().unwrap();
    fs::set_permissions(data_dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let serve = serve(data_dir.path());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "umask 0; exec \"$@\"", "sh"])
        .arg(serve.get_program())
        .args(serve.get_args());
    let server = Server::spawn(shell.env_clear().env("PATH", "/usr/bin:/bin"));
    deliver(&server.smtp, "a@restante.example.com", "Hello", "text");
    let files: Vec<_> = fs::read_dir(data_dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for name in [
        "restante.db",
        "restante.db-wal",
        "restante.db-shm",
        "lock",
        "tls-cert.pem",
        "tls-key.pem",
    ] {
        assert!(
            files.contains(&data_dir.path().join(name)),
            "{name} is not among {files:?}"
        );
    }
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_database_has_one_server_under_all_its_names() {
    let (data_dir, _server, _key) = first_start();
    let database = data_dir.path().join("restante.db");
    let other = tempfile::tempdir().unwrap();
    let soft = other.path().join("soft.db");
    let hard = other.path().join("hard.db");
    symlink(&database, &soft).unwrap();
    fs::hard_link(&database, &hard).unwrap();
    for name in [soft, hard] {
        let (code, said) = failed_serve(
            other.path(),
            &["--database", &format!("sqlite:{}", name.display())],
        );
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains("another `restante serve`") && said.contains("--database"),
            "{said}"
        );
    }
}

#[test]
fn a_database_that_may_only_be_read_is_refused() {
    let data_dir = tempfile::tempdir().unwrap();
    Server::start(data_dir.path(), &[]).kill();
    let database = data_dir.path().join("restante.db");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o400)).unwrap();
    let serve = serve(data_dir.path());
    let mut limited = Command::new("setpriv");
    if fs::File::options().append(true).open(&database).is_ok() {
        // The superuser may write every file, unless this capability is removed.
        limited.arg("--bounding-set=-dac_override");
    }
    let (code, said) = failed(
        limited
            .arg("--")
            .arg(serve.get_program())
            .args(serve.get_args()),
    );
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("cannot write to the database file") && said.contains("restante.db"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
