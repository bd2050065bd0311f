//! The commands for operators: `health`, `inbox list`, `completions`, `man`.

use testkit::server::{Server, command, failed, first_start, printed};
use testkit::smtp::{Smtp, deliver};

#[test]
fn health_says_whether_the_service_answers() {
    let (_data_dir, server, _key) = first_start();
    assert_eq!(
        printed(command(["health"]).env("RESTANTE_URL", &server.url)),
        ""
    );
    assert_eq!(printed(&mut command(["health", "--url", &server.url])), "");
    let url = server.url.clone();
    let (code, said) = failed(&mut command(["health", "--url", &format!("{url}/nowhere")]));
    assert_eq!((code, said.contains("404")), (1, true), "{said}");
    server.kill();
    let (code, said) = failed(&mut command(["health", "--url", &url]));
    assert_eq!((code, said.contains("is not healthy")), (1, true), "{said}");
}

#[test]
fn the_inboxes_of_a_project_are_listed() {
    let (data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]);
    deliver(
        &server.smtp,
        "by-mail@restante.example.com",
        "Hello",
        "text",
    );
    let directory = data_dir.path().to_str().unwrap();
    let list = printed(&mut command(["inbox", "list", "--data-dir", directory]));
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let mut shown: Vec<_> = lines
        .iter()
        .map(|line| (line[5], line[1], line[2], line.len()))
        .collect();
    shown.sort_unstable();
    let mut expected = [
        ("by-mail", "temporary", "1", 6),
        (address.split('@').next().unwrap(), "temporary", "0", 6),
    ];
    expected.sort_unstable();
    assert_eq!(shown, expected);
    printed(&mut command([
        "project",
        "create",
        "other",
        "--data-dir",
        directory,
    ]));
    assert_eq!(
        printed(&mut command([
            "inbox",
            "list",
            "--project",
            "other",
            "--data-dir",
            directory
        ])),
        ""
    );
    let (code, said) = failed(&mut command([
        "inbox",
        "list",
        "--project",
        "none",
        "--data-dir",
        directory,
    ]));
    assert_eq!((code, said.contains("none")), (1, true), "{said}");
}

#[test]
fn shells_and_man_learn_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&mut command(["completions", shell]));
        assert!(
            script.contains("rotate-key") && script.contains("smtps-listen"),
            "{shell}"
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    assert_eq!(printed(&mut command(["man", pages.to_str().unwrap()])), "");
    let serve = std::fs::read_to_string(pages.join("restante-serve.1")).unwrap();
    assert!(serve.contains(r"smtps\-listen"), "{serve}");
    assert!(pages.join("restante-project-create.1").exists());
}

#[test]
fn the_greeting_says_where_tls_is_and_that_passwords_can_be_read() {
    let data_dir = tempfile::tempdir().unwrap();
    let plain = Server::start(data_dir.path(), &[]);
    assert!(
        !plain.greeting.contains("SMTPS") && !plain.greeting.contains("without TLS"),
        "{}",
        plain.greeting
    );
    plain.kill();
    let flags = ["--smtps-listen", "127.0.0.1:0", "--smtp-plaintext-auth"];
    let server = Server::start(data_dir.path(), &flags);
    assert!(
        server.greeting.contains("SMTPS      127.0.0.1:"),
        "{}",
        server.greeting
    );
    assert!(
        server.greeting.contains("AUTH without TLS is enabled"),
        "{}",
        server.greeting
    );
}

#[test]
fn keys_alone_are_accepted_where_that_is_set() {
    let data_dir = tempfile::tempdir().unwrap();
    // "\0app\0secret"
    let dummy = "AUTH PLAIN AGFwcABzZWNyZXQ=";
    for (flags, code) in [(&[][..], "235"), (&["--smtp-auth", "keys"], "535")] {
        let server = Server::start(data_dir.path(), flags);
        let reply = Smtp::connect(&server.smtp).unwrap().say(dummy).unwrap();
        assert!(reply.starts_with(code), "{flags:?}: {reply}");
        server.kill();
    }
}
