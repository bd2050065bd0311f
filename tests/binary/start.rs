//! The first start and later starts: what is created, printed and kept.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use testkit::http;
use testkit::server::{Server, command, failed, first_start, printed, serve};
use testkit::smtp::{Smtp, deliver};

#[test]
fn the_first_start_prints_a_key_and_a_curl_line_that_works() {
    let (_data_dir, server, key) = first_start();
    assert_eq!(key.len(), "rst_live_".len() + 32);
    let answer = Command::new("sh")
        .args(["-c", server.curl_line()])
        .output()
        .unwrap();
    let inbox: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert!(
        inbox["address"]
            .as_str()
            .unwrap()
            .ends_with("@restante.example.com"),
        "{inbox}"
    );
    assert_eq!(inbox["kind"], "temporary");
}

#[test]
fn on_this_machine_the_dashboard_has_a_name_of_its_own() {
    let (data_dir, server, key) = first_start();
    let port = server.url.rsplit_once(':').unwrap().1;
    let named = format!("http://restante.localhost:{port}/");
    assert!(server.greeting.contains(&named), "{}", server.greeting);
    assert_eq!(server.run_cli(&key, ["open"]).trim_end(), named);
    let data_dir = data_dir.path().to_str().unwrap();
    let link = server.run_cli(&key, ["open", "--data-dir", data_dir]);
    assert!(link.starts_with(&format!("{named}sign-in/")), "{link}");
    assert!(
        server.greeting.contains(&format!("{named}sign-in/")),
        "{}",
        server.greeting
    );
    // `--resolve` as browsers do.
    let opened = Command::new("curl")
        .args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--resolve"])
        .arg(format!("restante.localhost:{port}:127.0.0.1"))
        .arg(format!("{named}sign-in"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(opened.stdout).unwrap(), "200");
}

#[test]
fn a_restart_keeps_the_data_and_prints_no_key() {
    let (data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(&server.smtp, &address, "Kept", "text");
    server.signal("TERM");
    assert!(server.wait().success());

    let server = Server::start(data_dir.path(), &[]);
    assert_eq!(server.made_key(), None);
    assert!(
        !server.greeting.contains("rst_live_"),
        "{}",
        server.greeting
    );
    assert!(
        server
            .run_cli(&key, ["messages", &address])
            .ends_with("\tKept")
    );
    // The request that a restart prints takes the key from the environment.
    let curl = Command::new("sh")
        .args(["-c", server.curl_line()])
        .env("RESTANTE_API_KEY", &key)
        .output()
        .unwrap();
    assert!(
        String::from_utf8(curl.stdout)
            .unwrap()
            .contains("@restante.example.com")
    );
}

#[test]
fn a_program_reads_where_the_server_listens_from_one_line_of_json() {
    let data_dir = tempfile::tempdir().unwrap();
    let mut child = serve(data_dir.path())
        .args(["--print-json", "--smtps-listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let started: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(started["pid"], child.id());
    assert_eq!(started["data_dir"], data_dir.path().to_str().unwrap());
    assert_eq!(started["mail_domain"], "restante.example.com");
    assert!(
        started["admin_token"].as_str().unwrap().len() >= 20,
        "{started}"
    );
    let listener = |name: &str| {
        format!(
            "{}:{}",
            started[name]["host"].as_str().unwrap(),
            started[name]["port"]
        )
    };
    TcpStream::connect(listener("smtps")).unwrap();
    deliver(
        &listener("smtp"),
        "anyone@restante.example.com",
        "Hello",
        "text",
    );
    let mut messages = command(["messages", "anyone"]);
    messages.env("RESTANTE_URL", started["url"].as_str().unwrap());
    messages.env("RESTANTE_API_KEY", started["api_key"].as_str().unwrap());
    assert!(printed(&mut messages).ends_with("\tHello"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_given_key_is_the_default_projects_and_is_not_printed() {
    let data_dir = tempfile::tempdir().unwrap();
    let key = "rst_live_0123456789abcdef";
    let server = Server::start(data_dir.path(), &["--api-key", key]);
    assert!(!server.greeting.contains(key), "{}", server.greeting);
    deliver(
        &server.smtp,
        "unannounced@restante.example.com",
        "Hello",
        "text",
    );
    assert!(
        server
            .run_cli(key, ["messages", "unannounced"])
            .ends_with("\tHello")
    );
}

#[test]
fn the_guide_and_the_mail_go_by_the_settings() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        data_dir.path(),
        &[
            "--base-url",
            "https://inboxes.example/",
            "--mail-domain",
            "Mail.Example",
        ],
    );
    let key = server.made_key().unwrap();
    assert!(
        server
            .curl_line()
            .ends_with("'https://inboxes.example/v1/inboxes'"),
        "{}",
        server.curl_line()
    );
    assert!(
        server
            .run_cli(key, ["inbox", "create"])
            .ends_with("@mail.example")
    );
    let guide = http::get(format!("{}/llm", server.url))
        .call()
        .unwrap()
        .into_body();
    assert!(
        guide.contains("https://inboxes.example/v1/inboxes") && guide.contains("@mail.example")
    );
}

#[test]
fn the_data_directory_is_accessible_only_to_its_owner() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    let _server = Server::start(&data_dir, &[]);
    assert_eq!(
        data_dir.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn more_connections_are_taken_than_a_shell_allows() {
    let data_dir = tempfile::tempdir().unwrap();
    let serve = serve(data_dir.path());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -S -n 64; exec \"$@\"", "sh"])
        .arg(serve.get_program())
        .args(serve.get_args());
    let server = Server::spawn(shell.env_clear().env("PATH", "/usr/bin:/bin"));
    let connections: Vec<Smtp> = (0..100)
        .map(|_| Smtp::connect(&server.smtp).unwrap())
        .collect();
    assert_eq!(connections.len(), 100);
}

#[test]
fn the_log_is_json_if_that_is_set() {
    let data_dir = tempfile::tempdir().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut serve = serve(data_dir.path());
    serve
        .args(["--log-format", "json"])
        .env("RESTANTE_LOG", "info")
        .stderr(log.reopen().unwrap());
    let server = Server::spawn(&mut serve);
    let key = server.made_key().unwrap().to_owned();
    deliver(&server.smtp, "logged@restante.example.com", "Hello", "text");
    server.run_cli(&key, ["wait", "logged"]);
    server.signal("TERM");
    assert!(server.wait().success());

    let log = fs::read_to_string(log.path()).unwrap();
    let events: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert!(
        events
            .iter()
            .any(|event| event["fields"]["message"] == "stopped"),
        "{log}"
    );
    assert!(!log.contains(&key), "a key is in the log");
}

#[test]
fn a_log_filter_that_cannot_be_read_is_a_usage_error() {
    let data_dir = tempfile::tempdir().unwrap();
    let (code, said) = failed(serve(data_dir.path()).env("RESTANTE_LOG", "restante=loud"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("RESTANTE_LOG"), "{said}");
}

#[test]
fn missing_authority_files_are_rejected() {
    let data_dir = tempfile::tempdir().unwrap();
    let empty = tempfile::NamedTempFile::new().unwrap();
    for (path, code, says) in [
        ("/nonexistent/ca.pem", 2, "--relay-ca"),
        (empty.path().to_str().unwrap(), 1, "--relay-ca"),
    ] {
        let flags = ["--relay", "smtp://127.0.0.1:25", "--relay-ca", path];
        let (status, said) = failed(serve(data_dir.path()).args(flags));
        assert!(
            status == code && said.contains(says) && said.contains(path),
            "{status}: {said}"
        );
    }
}

#[test]
fn the_version_and_the_help_are_printed() {
    for (argument, expected) in [
        ("--version", env!("CARGO_PKG_VERSION")),
        ("--help", "serve"),
    ] {
        let output = command([argument]).output().unwrap();
        assert!(output.status.success());
        assert!(
            String::from_utf8(output.stdout).unwrap().contains(expected),
            "{argument}"
        );
    }
}
