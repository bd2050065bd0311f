//! Every error names its reason and its remedy, and has an exit code.

use std::net::TcpListener;
use std::path::Path;

use testkit::http;
use testkit::port::ReservedPort;
use testkit::server::{Server, command, failed, first_start, serve};

/// Starts that must fail; 1 is the exit code of the service, 2 that of wrong usage.
pub(crate) fn failed_serve(data_dir: &Path, flags: &[&str]) -> (i32, String) {
    let mut serve = command(["serve", "--data-dir"]);
    serve.arg(data_dir);
    for listen in ["--http-listen", "--smtp-listen"] {
        if !flags.contains(&listen) {
            serve.args([listen, "127.0.0.1:0"]);
        }
    }
    failed(serve.args(flags))
}

#[test]
fn a_data_directory_has_one_server() {
    let (data_dir, _server, _key) = first_start();
    let (code, said) = failed_serve(data_dir.path(), &[]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("another `restante serve`") && said.contains("--data-dir"),
        "{said}"
    );
}

#[test]
fn a_start_that_fails_prints_no_sql() {
    let (data_dir, server, _key) = first_start();
    server.signal("TERM");
    assert!(server.wait().success());
    let database = rusqlite::Connection::open(data_dir.path().join("restante.db")).unwrap();
    database
        .execute_batch("ALTER TABLE settings RENAME TO something")
        .unwrap();
    database.close().unwrap();
    let (code, said) = failed_serve(data_dir.path(), &[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no such table: settings"), "{said}");
    assert!(
        !said.contains("SELECT") && !said.contains("INSERT"),
        "{said}"
    );
}

#[test]
fn health_notices_that_the_database_file_is_gone() {
    let (data_dir, server, key) = first_start();
    let health = format!("{}/v1/health", server.url);
    assert!(http::get(&health).call().is_ok());
    std::fs::remove_file(data_dir.path().join("restante.db")).unwrap();
    // Reading goes on, and does not create the file again.
    let list = format!("{}/v1/inboxes?address=a@restante.example.com", server.url);
    let read = http::get(&list).header("x-api-key", &key).call();
    assert!(matches!(read, Err(http::Error::Status(404))), "{read:?}");
    let gone = http::get(&health).call();
    assert!(matches!(gone, Err(http::Error::Status(500))), "{gone:?}");
}

#[test]
fn a_database_file_has_one_server() {
    let (data_dir, _server, _key) = first_start();
    let database = data_dir.path().join("restante.db");
    let other = tempfile::tempdir().unwrap();
    let (code, said) = failed_serve(
        other.path(),
        &["--database", &format!("sqlite:{}", database.display())],
    );
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("another `restante serve`") && said.contains("--database"),
        "{said}"
    );
}

#[test]
fn a_port_that_is_taken_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--http-listen", "--smtp-listen"] {
        let data_dir = tempfile::tempdir().unwrap();
        let (code, said) = failed_serve(data_dir.path(), &[flag, &address]);
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains(&address) && said.contains(flag) && said.contains("in use"),
            "{said}"
        );
    }
}

#[test]
fn a_failed_start_does_not_swallow_the_first_key() {
    let data_dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, _) = failed_serve(
        data_dir.path(),
        &["--smtp-listen", &taken.local_addr().unwrap().to_string()],
    );
    assert_eq!(code, 1);
    assert!(Server::start(data_dir.path(), &[]).made_key().is_some());
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (code, said) = failed_serve(&file.path().join("data"), &[]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains(file.path().to_str().unwrap()) && said.contains("--data-dir"),
        "{said}"
    );
}

#[test]
fn a_certificate_that_cannot_be_read_is_named() {
    let data_dir = tempfile::tempdir().unwrap();
    let (code, said) = failed_serve(
        data_dir.path(),
        &["--tls-cert", "no-such.pem", "--tls-key", "no-such.key"],
    );
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no-such.pem"), "{said}");
}

#[test]
fn wrong_flags_are_usage_errors_and_touch_nothing() {
    for (flags, named) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["--http-listen", "everywhere"], "--http-listen"),
        (&["--mail-domain", "a@b"], "--mail-domain"),
        (&["--tls-cert", "c.pem"], "--tls-key"),
        (&["--max-message-size", "25MB"], "--max-message-size"),
        (&["--inbox-lifetime", "1"], "--inbox-lifetime"),
        (&["--api-key", "secret"], "--api-key"),
        (&["--admin-token", ""], "--admin-token"),
        (&["--admin-token", "a secret of 19 char"], "--admin-token"),
        (&["--dns-server", "127.0.0.1:0"], "--dns-server"),
        (
            &["--relay", "smtp://user:secret%zz@mail.example"],
            "--relay",
        ),
    ] {
        let parent = tempfile::tempdir().unwrap();
        let data_dir = parent.path().join("data");
        let (code, said) = failed_serve(&data_dir, flags);
        assert_eq!(code, 2, "{flags:?}: {said}");
        assert!(
            said.contains(named) && !said.contains("secret"),
            "{flags:?}: {said}"
        );
        assert!(!data_dir.exists(), "{flags:?}");
    }
}

#[test]
fn a_variable_sets_the_same_as_a_flag() {
    let parent = tempfile::tempdir().unwrap();
    let mut serve = command(["serve"]);
    serve
        .env("RESTANTE_DATA_DIR", parent.path().join("data"))
        .env("RESTANTE_MAIL_DOMAIN", "a@b");
    let (code, said) = failed(&mut serve);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--mail-domain"), "{said}");
}

#[test]
fn an_empty_variable_is_an_absent_one() {
    let data_dir = tempfile::tempdir().unwrap();
    let mut serve = serve(data_dir.path());
    for name in [
        "BASE_URL",
        "TRUSTED_PROXY",
        "API_KEY",
        "ADMIN_TOKEN",
        "TLS_CERT",
        "SMTPS_LISTEN",
        "RELAY",
        "MAX_BODY",
    ] {
        serve.env(format!("RESTANTE_{name}"), "");
    }
    assert!(Server::spawn(&mut serve).made_key().is_some());
}

#[test]
fn a_switch_is_on_or_off() {
    const VARIABLE: &str = "RESTANTE_ALLOW_PRIVATE_TARGETS";
    for wrong in ["maybe", "2", "tru"] {
        let parent = tempfile::tempdir().unwrap();
        let mut serve = command(["serve", "--data-dir"]);
        let (code, said) = failed(serve.arg(parent.path().join("data")).env(VARIABLE, wrong));
        assert_eq!(code, 2, "{said}");
        assert!(
            said.contains("--allow-private-targets") && said.contains(wrong),
            "{said}"
        );
    }
    for right in ["true", "FALSE", "1", "off", ""] {
        let mut serve = command(["serve", "--mail-domain", "a@b"]);
        let (_, said) = failed(serve.env(VARIABLE, right));
        assert!(said.contains("--mail-domain"), "{right}: {said}");
    }
}

#[test]
fn the_client_says_why_a_request_failed() {
    let (_data_dir, server, key) = first_start();
    let silent = ReservedPort::new();
    let closed = format!("http://127.0.0.1:{}", silent.number());
    let wrong_key = "rst_live_0123456789abcdef";
    for (url, key, arguments, expected) in [
        (
            closed.as_str(),
            key.as_str(),
            &["inbox", "create"][..],
            "cannot reach",
        ),
        ("restante.example.com", &key, &["inbox", "create"], "--url"),
        (&server.url, "", &["inbox", "create"], "RESTANTE_API_KEY"),
        (&server.url, "secret", &["inbox", "create"], "--api-key"),
        (&server.url, wrong_key, &["inbox", "create"], "rotate-key"),
        (
            &server.url,
            &key,
            &["inbox", "get", "nobody"],
            "no inbox nobody",
        ),
        (
            &server.url,
            &key,
            &["inbox", "delete", "nobody@restante.example.com"],
            "no inbox nobody@restante.example.com",
        ),
        (&server.url, &key, &["messages", "a/b?c"], "no inbox a/b?c"),
        (
            &server.url,
            &key,
            &["wait", "nobody", "--timeout", "0s"],
            "no inbox nobody",
        ),
        (
            &server.url,
            &key,
            &["wait", "nobody", "--link", "("],
            "--link",
        ),
        (
            &server.url,
            &key,
            &["wait", "nobody", "--otp", "--json"],
            "--json",
        ),
    ] {
        let mut client = command(arguments);
        let (code, said) = failed(client.env("RESTANTE_URL", url).env("RESTANTE_API_KEY", key));
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(
            said.contains(expected) && !said.contains("secret"),
            "{arguments:?}: {said}"
        );
    }
}
