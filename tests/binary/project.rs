//! `restante project`, with a running server and without one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::server::{Server, command, failed, first_start, printed};

/// A running server accepts a key for at most 2 s after it was replaced. The rest is for a busy
/// machine.
const KEY_STOPS_WITHIN: Duration = Duration::from_secs(15);

fn project<'a>(data_dir: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = command(["project"]);
    command.args(arguments).arg("--data-dir").arg(data_dir);
    command
}

fn is_accepted(server: &Server, key: &str) -> bool {
    server
        .client(key, ["inbox", "create"])
        .output()
        .unwrap()
        .status
        .success()
}

/// Repeats a request until its key is refused; fails if that takes too long.
fn assert_stops(server: &Server, key: &str) {
    let changed = Instant::now();
    while is_accepted(server, key) {
        assert!(changed.elapsed() < KEY_STOPS_WITHIN, "the key still works");
    }
}

#[test]
fn create_prints_only_the_key_and_the_server_accepts_it() {
    let (data_dir, server, _key) = first_start();
    let output = project(data_dir.path(), ["create", "shop"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let key = String::from_utf8(output.stdout).unwrap();
    assert!(
        key.starts_with("rst_live_") && key.lines().count() == 1,
        "{key:?}"
    );
    assert!(String::from_utf8(output.stderr).unwrap().contains("shop"));
    assert!(is_accepted(&server, key.trim()));
}

#[test]
fn a_rotated_key_stops_and_the_new_one_works() {
    let (data_dir, server, _key) = first_start();
    let old = printed(&mut project(data_dir.path(), ["create", "shop"]));
    assert!(is_accepted(&server, &old));
    let new = printed(&mut project(data_dir.path(), ["rotate-key", "shop"]));
    assert!(is_accepted(&server, &new));
    assert_stops(&server, &old);
}

#[test]
fn an_overlap_keeps_the_old_key_going() {
    let (data_dir, server, _key) = first_start();
    let old = printed(&mut project(data_dir.path(), ["create", "shop"]));
    let new = printed(&mut project(
        data_dir.path(),
        ["rotate-key", "shop", "--overlap", "1h"],
    ));
    assert!(is_accepted(&server, &old) && is_accepted(&server, &new));
    // A rotation without an overlap ends both keys.
    let newest = printed(&mut project(data_dir.path(), ["rotate-key", "shop"]));
    assert_stops(&server, &old);
    assert_stops(&server, &new);
    assert!(is_accepted(&server, &newest));
}

#[test]
fn a_deleted_projects_key_stops() {
    let (data_dir, server, _key) = first_start();
    let key = printed(&mut project(data_dir.path(), ["create", "shop"]));
    assert!(is_accepted(&server, &key));
    assert_eq!(
        printed(&mut project(data_dir.path(), ["delete", "shop"])),
        ""
    );
    assert_stops(&server, &key);
    assert!(!printed(&mut project(data_dir.path(), ["list"])).contains("shop"));
}

#[test]
fn a_deleted_projects_wait_ends() {
    let (data_dir, server, _key) = first_start();
    let key = printed(&mut project(data_dir.path(), ["create", "shop"]));
    let address = server.run_cli(&key, ["inbox", "create"]);
    let wait = server
        .client(&key, ["wait", &address, "--timeout", "120s"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    printed(&mut project(data_dir.path(), ["delete", "shop"]));
    let deleted = Instant::now();
    let output = wait.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        deleted.elapsed() < 2 * KEY_STOPS_WITHIN,
        "{:?}",
        deleted.elapsed()
    );
}

#[test]
fn the_list_shows_names_and_the_ends_of_keys() {
    let (data_dir, _server, default_key) = first_start();
    let key = printed(&mut project(data_dir.path(), ["create", "größer shop"]));
    let list = printed(&mut project(data_dir.path(), ["list"]));
    for (name, key) in [("default", &default_key), ("größer shop", &key)] {
        let line = list
            .lines()
            .find(|line| line.starts_with(name))
            .expect(&list);
        assert!(
            line.contains(&key[key.len() - 4..]) && !line.contains(&key[..20]),
            "{line}"
        );
    }
}

#[test]
fn projects_of_one_server_do_not_see_each_other() {
    let (data_dir, server, key) = first_start();
    let other = printed(&mut project(data_dir.path(), ["create", "other"]));
    let address = server.run_cli(&key, ["inbox", "create"]);
    let (code, said) = failed(&mut server.client(&other, ["inbox", "get", &address]));
    assert_eq!(code, 2);
    assert!(said.contains(&address), "{said}");
}

#[test]
fn a_project_can_be_made_before_the_first_start() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("data");
    let key = printed(&mut project(&data_dir, ["create", "shop"]));
    let server = Server::start(&data_dir, &[]);
    assert!(is_accepted(&server, &key));
    assert!(
        server.made_key().is_some(),
        "the default project gets its own key"
    );
}

#[test]
fn refused_changes_exit_with_1() {
    let (data_dir, _server, _key) = first_start();
    printed(&mut project(data_dir.path(), ["create", "shop"]));
    for arguments in [
        &["create", "shop"][..],
        &["create", ""],
        &["rotate-key", "nobody"],
        &["delete", "nobody"],
        &["delete", "default"],
    ] {
        let (code, said) = failed(&mut project(data_dir.path(), arguments.iter().copied()));
        assert_eq!(code, 1, "{arguments:?}: {said}");
        assert!(said.starts_with("restante: "), "{arguments:?}: {said}");
    }
}

#[test]
fn a_mistyped_directory_is_an_error_and_not_created() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("mistyped");
    for arguments in [
        &["list"][..],
        &["rotate-key", "default"],
        &["delete", "shop"],
    ] {
        let (code, said) = failed(&mut project(&data_dir, arguments.iter().copied()));
        assert_eq!(code, 1, "{arguments:?}: {said}");
        assert!(
            said.contains("no database") && said.contains("--data-dir"),
            "{said}"
        );
        assert!(!data_dir.exists());
    }
}
